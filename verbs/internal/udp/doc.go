// Package udp carries packets between hosts: RoCEv2 (InfiniBand Architecture Specification, volume 1, annex A17), UDP
// to port 4791, so that the other end may be Linux' rxe or an adapter.
//
// Every process sends from sockets of its own. Linux gives a datagram from a socket that is not connected, with DF set,
// the identification 0 (ip(7)), so the sender can compute the invariant CRC, which covers it. A receiver sees neither
// the identification nor the flags without a raw socket and leaves the CRC alone; UDP's checksum has been checked.
//
// The packets of a queue pair that may leave leave together, by sendmmsg(2), and up to 32 are received by one
// recvmmsg(2). Threads that poll a completion queue receive, and the port's goroutine does so while nobody polls.
//
// One process of a network namespace receives for all ([Port]): it has bound the port, and hands each packet to the
// process whose number is in the upper half of its destination queue pair. It has an abstract name that ends with the
// number of its turn, and all others have a connection of that name, by which they ask whether it is still there. The
// first answer brings descriptors of its sockets. When it ends, or is stopped and doesn't answer, the first of the
// others takes the next turn, and goes on with these, so that nothing gets lost. Who has had no answer binds the port
// once more: the socket that was bound last gets what arrives. Who had the turn before hears of that once it goes on.
package udp
