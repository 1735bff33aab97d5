// Package rdmasim is the fabric that gives device memory remote addresses, on one host at memory speed and
// with no adapter, and from other hosts by libfabric.
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
// A region is registered, then freed, for good. The truth is a word in the owner's control page, a memfd that
// peers can map for reading only: the word is odd while the region in its slot lives and counts on when it
// is freed. Word 0 is the owner's: serving, closed, or, written by the kernel when the process dies, dead.
//
// A peer's view of a region is open, then closed with a reason: freed, owner died, peer closed. The mapping
// goes when the last operation under way has left it. Operations under way are counted in the peer's ledger,
// a memfd that owners can map for reading only, and a free waits until it shows nobody inside. A connection
// carries no data: its end tells either side of the other's, and a notice on it makes idle peers give back
// the memory of freed regions.
//
// Lock order: the default owner's lock, then an owner's; a link's turn, then the peer's lock. Nothing is
// sent under a lock, save for the greeting, which can't block.
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
// # Other hosts
//
// A [Bridge] serves the regions of its host to peers that opened "ofi://host:port/", by libfabric. It is a
// peer of the owners itself, and stays inside of a region until the operations of other hosts have ended, so
// that a free waits for these, too, though for no longer than a second. Peers learn what a region is over
// TLS, and keep that connection: it tells them of regions that end. What is different from this host:
//
//   - The data travels in clear, with the keys that libfabric asks for, and libfabric knows no rights of
//     single operations beyond reading and writing: rights to atomics are checked by the peer alone.
//   - A death of the owner is known when the bridge's host has told, not at once, and one of the host after
//     some seconds, as [ErrUnreachable]. Operations have a deadline of their own, five seconds without
//     progress.
//   - A free that finds a peer's connection dead gives up on it after a second. Late writes then hit the
//     memfd of the region, which nothing else uses, and for another second at most.
//   - Reads and writes are copies in parts, also those of aligned words. Atomics are atomic on the owner's
//     host, against all of its processors.
//   - Counters don't count what comes from other hosts.
//
// # What is checked where
//
//	users of both sides     owner and peer, by SO_PEERCRED, before the control page or a ledger is handed out
//	key                     owner, when it hands out the payload; peer, where an operation gives one
//	rights                  owner, when it hands out the payload (read-only regions as read-only
//	                        descriptors); peer, at each operation
//	range, alignment        peer, at each operation
//	registered, owner lives peer, before and after each operation
//	payload can't shrink    owner at registration, peer before mapping
//	packets                 both sides; nonsense ends the connection
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
//
// [StatusOf] is this table.
package rdmasim
