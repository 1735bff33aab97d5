// Package ofi moves data between hosts with libfabric (OpenFabrics Interfaces, man fabric(7)), which it loads
// when a [Target] or a [Conn] is first made and not before.
//
// A [Target] has memory registered and is not asked again: the library checks key, range and rights of what
// arrives and moves the bytes, driven by a goroutine that waits in fi_cq_sread. A [Conn] reads, writes and
// runs atomics on the memory of one target.
//
// # What a target and a peer tell each other
//
// Nothing, by this package's means. [Target.Address] and [Region.Remote] have to reach the peer by another
// way, one that is encrypted and authenticated: who knows a key may use it. The data itself travels in clear,
// and nothing on the way proves where it came from.
//
// # Deadlines
//
// The library waits for a target that is gone for ever. So a Conn has its own clock: when nothing was
// completed for [Options.Timeout], or the caller's context ends, it closes its endpoint. From then on the
// library doesn't know the caller's buffers, and the operation returns. The next one opens a new endpoint.
//
// # Failures
//
// A target answers a wrong key, range or right by ending the connection, with all that is under way on it,
// and its death looks the same. What failed in this way is therefore done once more on an endpoint of its
// own, behind a read of a word that every target exports: then it is known whether the target lives and
// whether it was this operation that it would not do. Reads and writes can be repeated. An atomic can't, and
// may have taken effect.
//
// # Memory
//
// The library keeps addresses of operation contexts and completion entries, which lie outside of Go's heap,
// and the caller's buffer while a transfer is under way, during which it is pinned.
package ofi
