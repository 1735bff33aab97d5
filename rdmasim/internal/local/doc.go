// Package local is the way to regions of this host.
//
// An [Owner] registers regions (region.go) and serves them on a socket (serve.go). A [Fabric] is a peer's side: it
// keeps a link to each owner (link.go), whose connections are sessions (session.go), and opens regions as a [View]
// each (view.go), which does the operations.
//
// Two files of words are shared between an owner and a peer: the owner's control page, and the peer's ledger
// (ledger.go). Packets go over the socket (wire.go, packet.go), with descriptors. Neither side trusts the other with
// more than a region's payload: what a packet says is held against what can be before it is used.
package local
