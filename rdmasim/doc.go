// Package rdmasim is the fabric that gives device memory remote addresses, on one host at memory speed and
// with no adapter, and from other hosts over TLS.
//
// An [Owner] registers ranges of memfds as regions; a [Peer], mostly in another process, reads, writes and
// runs atomics on them by remote address. After the first operation on a region the owner is not involved
// any more: a peer's operation is a copy to or from its own mapping of the payload, with no system call and
// no allocation.
//
// # Addresses
//
// A remote address has bit 63 clear, bits 62 and 55 set, the owner's id (20 bits) in bits 61 to 56 and 54 to
// 41, and a place in the owner's range below. No processor maps such an address in a process, so code that
// dereferences one fails at once. The payload's offset in its page is kept. Addresses are handed out
// upwards, with an unmapped page behind each region, and come back only when the owner's 2 TiB are used up.
//
// An owner's id is claimed by binding the abstract unix socket "@farside-rdma-" plus five hexadecimal
// digits. The kernel drops the name with the process: there is no broker, no file and no stale entry.
// Abstract names belong to a network namespace, and so does the fabric.
//
// The address of a freed region rests for two seconds at least before it can mean something else.
//
// # States
//
// What there is, in which states, and where the state is written:
//
//	owner       serving, then closed or dead    word 0 of its control page; the kernel writes dead
//	region      registered, then freed          a word of the control page, odd while registered
//	view        open, then closed               in the peer, with a reason: freed, owner died, peer closed
//	connection  greeted, joined, ended          its end tells either side of the other's
//
// The control page is a memfd that peers can only read. A peer's ledger is one that owners can only read; it
// counts the operations under way. A free changes the region's word and waits until no ledger shows anybody
// inside. A view's mapping goes when the view is closed and the last operation has left. A connection carries
// no data. A notice on it makes idle peers give back the memory of freed regions. The process' own owner, which
// [Register] makes, serves until the process ends.
//
// Locks are taken in this order:
//
//  1. the process' lock, to make its owner
//  2. an owner's lock
//
// and in peers:
//
//  1. the turn of a link to an owner, which one question at a time has
//  2. the lock of the peer's table
//
// Locks that aren't named here are held for a few lines that take no other. Nothing is sent under a lock, save
// for the greeting, which can't block. A turn is held while an owner is waited for, at most five seconds.
//
// # Order and visibility
//
// What is guaranteed on one host:
//
//   - An operation that returns nil was complete before the region's Close returned, and one that returns an
//     error touches nothing after that. After [ErrFreed], a write or an atomic may have taken effect. Close
//     gives up on a peer that has been stopped in the middle of a copy for a second; the pages are the
//     region's memfd, which exists as long as anybody has it mapped, so that even then nothing else is hit.
//   - An operation that begins after the owner's death fails with [ErrOwnerDied]. Dead is an owner when the
//     kernel has ended its threads: before its descriptors are closed, so before wait(2) or a pidfd can
//     tell. A kernel without robust futexes lets it be seen only at the end of the connection.
//   - A completed write is visible to everything that happens after its completion, by whatever means others
//     learn of it: queue work that is submitted afterwards or released by a semaphore or fence that is
//     signalled afterwards, the host, other peers. Queue writes are visible to reads that begin after the
//     fence or semaphore of the queue is seen to be signalled.
//   - Atomics, and reads and writes of an aligned word of four or eight bytes, are single atomic steps,
//     sequentially consistent with the same and with processor atomics on the word, in every process.
//   - Any other transfer is a copy, in no particular order, that others may see in parts. A transfer is
//     ordered after those that the same goroutine completed before, and on a [QueuePair] after the work
//     posted before.
//
// Real adapters promise less, and programs that are to run on them must not lean on the difference:
//
//   - The initiator's completion of a write says that the target has received it, not that its processor or
//     its device sees it: that takes a later send, write with immediate, read or atomic on the same
//     connection.
//   - Reads and atomics may overtake each other and later writes unless fenced (IBV_SEND_FENCE); writes of
//     different queue pairs have no order.
//   - Bytes of one transfer may arrive in any order, also those of an aligned word with some fabrics; polling
//     the last byte of a buffer is not allowed.
//   - Atomics need not be atomic against the processor's (IBV_ATOMIC_HCA), exist for eight bytes only,
//     without bitwise operations and swap.
//   - A process' memory may be read and written by operations under way until the deregistration returns, and
//     after a target's death a completion with an error takes the retry time, seconds.
//
// # Strictness
//
// With FARSIDE_STRICT=rdma an owner asks its peers to be no better than adapters. Its regions are strict: each
// operation tells the owner that it is under way, then does what it does, then tells that its initiator knows of the
// end. A write brings its bytes to the owner, who keeps them from devices ([Attributes].Holds) until [Synchronize].
// The guarantees above don't hold then, save for those of the end of a region, of atomics and of aligned words.
// docs/strict.md has the rules and what is found, rdmasim/internal/local/strict.go the owner's part.
//
// # Other hosts
//
// A [Bridge] serves the regions of its host to peers that opened "tls://host:port/". It is a peer of the owners
// itself: other hosts' peers send it their operations over TLS 1.3, and it carries them out. So a free waits
// for these operations as for those of this host, rights are checked on the owner's host, and nobody on the
// way can read or change the data. What is different from this host:
//
//   - A region's end is known with the next operation; [Peer.Resolve] doesn't ask again for a region that the
//     peer knows.
//   - The end of a connection is [ErrUnreachable], at once or after five seconds in which neither an answer nor
//     64 KiB of one came, or as much could not be sent. Answers come in the order of the requests, so that this
//     bounds each operation. [Peer.Close] ends those under way. The next operation connects anew, also to a
//     bridge that was started again, and regions go on to be usable. A read is repeated by itself. A write or an
//     atomic that was under way may have taken effect, or may still until the bridge sees the connection's end.
//   - Reads and writes are copies in parts, of up to 256 KiB. A part that is one aligned word of four or eight
//     bytes is one atomic step. Atomics are atomic on the owner's host, against all of its processors.
//
// # What is checked where
//
//	users of both sides     owner and peer, by SO_PEERCRED, before the control page or a ledger is handed out
//	key                     owner, when it hands out the payload; peer, where an operation gives one
//	rights                  owner, when it hands out the payload; peer, at each operation
//	read-only               the kernel, against peers that break the rules: see below
//	range, alignment        peer, at each operation
//	registered, owner lives peer, before and after each operation
//	payload can't shrink    owner at registration, peer before mapping
//	packets                 both sides; nonsense ends the connection
//	peers of other hosts    bridge and peer, by TLS with the secret or certificates, before anything else; key,
//	                        rights, range and alignment by the bridge, at each operation
//
// A region without write and atomic rights is handed out as a read-only descriptor. Processes of other users can't open
// it again for writing, since registration takes that from the file's mode. Those of the owner's user and root can,
// unless the file is sealed with F_SEAL_FUTURE_WRITE before it is registered: then nobody can. The driver seals memory
// that is exported as a remote address and in no other way. Whoever may trace the owner (ptrace(2)) can write to all of
// its memory.
//
// What is bounded, so that nobody has all:
//
//	connections of an owner     1024, and half of the descriptors that its process may have; of these half for
//	                            each user, an eighth for each process
//	before joining              five seconds of silence
//	descriptors in a packet     one; another one ends the connection
//	replies and notices         one for each request; another one ends the connection
//
// A peer that may have a region at all is trusted with the whole payload, like any process that holds its
// descriptor: a key tells regions apart, it doesn't protect them on this host.
//
// # Errors
//
//	ErrUnknownAddress, ErrOutOfRange, ErrFreed, ErrAccess, ErrKey, ErrPermission   IBV_WC_REM_ACCESS_ERR
//	ErrMisaligned                                                                  IBV_WC_REM_INV_REQ_ERR
//	ErrOwnerDied, ErrUnreachable                                                   IBV_WC_RETRY_EXC_ERR
//	ErrTimeout                                                                     IBV_WC_RESP_TIMEOUT_ERR
//	ErrProtocol                                                                    IBV_WC_BAD_RESP_ERR
//	ErrClosed, ErrFlushed                                                          IBV_WC_WR_FLUSH_ERR
//	ErrLocalLength                                                                 IBV_WC_LOC_LEN_ERR
//	ErrLocalFault                                                                  IBV_WC_LOC_PROT_ERR
//	ErrBadWork, ErrQueueFull, ErrResources                                         IBV_WC_LOC_QP_OP_ERR
//	ErrBadPayload, ErrUnknownFabric, ErrCredentials                                IBV_WC_GENERAL_ERR
//
// [StatusOf] is this table.
package rdmasim
