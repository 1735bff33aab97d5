// Package cm is the communication management of librdmacm: event channels, identifiers, connections, and the messages
// that carry them between processes and hosts.
//
// Messages are the MADs of the InfiniBand Architecture Specification, volume 1, chapter 12, with the private data of
// annex A11 (the RDMA IP CM service) in front: what Linux' rdma_cm sends, so that either side may be a kernel with rxe
// or an adapter. They travel as datagrams to queue pair 1.
//
//   - mad.go is the codec.
//   - manager.go has the identifiers of a process, its listeners, and what comes in; id.go what the application asks
//     for; connect.go the life of a connection; datagram.go that of the service-id resolution for UD; timer.go repeats
//     what is not answered.
//   - channel.go has event channels, whose descriptors applications poll.
//
// # Locks
//
// Manager.mu guards all identifiers and listeners. Channel.mu is taken under it. Nothing is sent and nobody is called
// under them but Wire.Send, which doesn't call back.
package cm
