// Package engine is what an RDMA adapter does, in Go and without C: devices, protection domains, memory regions and
// windows, completion queues and channels, shared receive queues, address handles, queue pairs. It follows the
// InfiniBand Architecture Specification, volume 1, and rdma-core's manual pages. Packets travel by a fabric.Network.
//
// # Errors
//
// Methods return a unix.Errno, as the function of libibverbs would set it, or an error that wraps one. Work that has
// been posted ends in a completion with an ibv.WCStatus.
//
// # Locks
//
// They are taken in this order:
//
//  1. QP.posting, of the threads that post sends to a queue pair
//  2. QP.mu, of a queue pair: its state, both queues, requester and responder
//  3. SRQ.mu
//  4. CQ.mu
//  5. Channel.mu, Context.mu (events)
//
// No two locks of one kind are held at a time. Those of the timers, of the table of keys, of the queue pairs that wait
// for a way, and of counts of users are leaves. A network is called with QP.mu held; it calls back without any lock of
// its own that Path.Send takes.
//
// # Ways
//
// Requester and responder speak RoCEv2's transport whatever the way is (requester.go, response.go, responder.go,
// answer.go). On a way that loses nothing the packets are larger. Where the target is Farside's memory in another
// process of this host, the requester's thread reads and writes it by itself (direct.go).
//
// # Memory
//
// Local and remote keys lead to a grant: a range of addresses, rights, and where the bytes are. An operation holds the
// grant while it copies. Deregistration ends the grant, and waits for those inside.
//
// Ordinary memory of the application can go away under its registration, which an adapter's pinned pages can't. A
// fault in a copy is an error of the work that needed it: IBV_WC_LOC_PROT_ERR, or a negative acknowledgement.
package engine
