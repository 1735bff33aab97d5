// Package exchange carries operations on regions between hosts: reads, writes and atomics by remote address,
// inside TLS 1.3 connections. It knows nothing of owners and mappings: a [Handler] does what peers ask for.
//
// A [Server] listens on TCP, a [Host] connects. Both speak TLS 1.3 and nothing older, and both prove who they
// are, by a secret that they share or by certificates ([LoadCredentials]). So the data is encrypted and can't
// be changed on its way, and who can't prove anything reaches crypto/tls and no line of this package. The
// protocol's version is the name of the application protocol in the handshake.
//
// # Messages
//
// A message is its kind and the length of its fields, two bytes each, the fields, and, with write and data,
// as many bytes as a field says, at most [MaxData]. Everything is little-endian.
//
//	hello    server   the first message; says whether the server has a place for this client
//	resolve  client   asks for the region around an address; answered by reply
//	read     client   asks for bytes of a region; answered by data
//	write    client   brings bytes for a region; answered by done
//	atomic   client   asks for one atomic operation; answered by done
//
// Each request has a tag, which its answer has, too. A server carries out reads, writes and atomics of one
// connection in their order. Answers to resolve may come later than those to what was asked after it, since
// the owner of a region may take its time. Anything else ends the connection.
//
// # Places
//
// A server counts connections that have not proved anything apart from those that have, in all and for each
// address (IPv6: each /64). The first kind has a few seconds. When there are too many of an address one goes,
// the oldest that has sent nothing first, so that a newcomer always gets its turn. The second kind is refused
// in the hello when there are too many. Both limits follow from the descriptors that the process may have
// (RLIMIT_NOFILE).
//
// # Failures
//
// A Host connects when it has something to ask, and again when its connection was lost. A read whose
// connection was lost is asked once more. A write and an atomic are not, since they may have been carried
// out: they fail, and the next one connects anew.
//
// A connection is lost, too, where for five seconds less than 64 KiB comes of something that has begun, or can be
// sent. A Host also waits so long for the answer that is next. Since answers come in order, this bounds each
// operation by the bytes that were asked for before it.
package exchange
