package finding

import (
	"fmt"
	"log/slog"
	"strings"
)

// ID names a kind of finding: pMessageIdName of debug messages. It stays the same from version to version.
type ID string

// The kinds of findings.
const (
	MissingFlush        ID = "FARSIDE-noncoherent-missing-flush"
	MissingInvalidate   ID = "FARSIDE-noncoherent-missing-invalidate"
	InvalidateUnflushed ID = "FARSIDE-noncoherent-invalidate-unflushed"
	UnalignedRange      ID = "FARSIDE-noncoherent-unaligned-range"
	FlushOverDevice     ID = "FARSIDE-noncoherent-flush-over-device"
)

// Row is what is known of a kind of finding.
type Row struct {
	ID       ID
	Severity slog.Level // slog.LevelError: the program is wrong; slog.LevelWarn: it may be
	What     string     // what has happened, in Markdown
	Cure     string     // what to do about it
}

// Table is the kinds of findings, in the order in which docs/strict.md has them.
var Table = []Row{
	{MissingFlush, slog.LevelError,
		"A queue used bytes that the host had written and not flushed. It saw the old ones.",
		"`vkFlushMappedMemoryRanges` of the range before the submission."},
	{InvalidateUnflushed, slog.LevelError,
		"`vkInvalidateMappedMemoryRanges` met bytes that the host had written and not flushed. They are lost.",
		"Flush what the host has written before the same atoms are invalidated."},
	{FlushOverDevice, slog.LevelError,
		"`vkFlushMappedMemoryRanges` wrote over bytes that a device had written into the same atom and that were not " +
			"invalidated.",
		"Invalidate before the host writes, and keep what host and device write `nonCoherentAtomSize` apart."},
	{UnalignedRange, slog.LevelError,
		"`vkFlushMappedMemoryRanges` or `vkInvalidateMappedMemoryRanges` was given a range that is not made of whole atoms.",
		"Round the range to `nonCoherentAtomSize`, or to the end of the memory."},
	{MissingInvalidate, slog.LevelWarn,
		"Memory was unmapped or freed while the host's view still lacked what a device had written, and no range of it " +
			"was ever invalidated. What the host read there was old.",
		"`vkInvalidateMappedMemoryRanges` after the fence and before the host reads."},
}

// RowOf returns the row of a kind.
func RowOf(id ID) *Row {
	for i := range Table {
		if Table[i].ID == id {
			return &Table[i]
		}
	}
	panic("finding: no row for " + string(id))
}

// Markdown prints the table for docs/strict.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| id | severity | what has happened | what to do |\n| --- | --- | --- | --- |\n")
	for _, r := range Table {
		severity := "error"
		if r.Severity < slog.LevelError {
			severity = "warning"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, severity, r.What, r.Cure)
	}
	return b.String()
}
