// Package verbs is what all parts of the fabric have in common: rights, opcodes, errors with their
// work-completion statuses, the format of remote addresses, and what a peer knows of a region. Package rdmasim
// gives users its names.
//
// A [Fabric] is one way to regions: those of this host, or those of another one. It puts the regions that it
// has resolved into a [Table], where operations find them without asking again. An operation uses a region
// through its [View], and doesn't know which way it is.
package verbs
