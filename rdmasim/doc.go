// Package rdmasim is the fabric that gives device memory remote addresses, on one host at memory speed and
// with no adapter.
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
// # States
//
// A region is registered, then freed, for good. The truth is a word in the owner's control page, a memfd that
// peers can map for reading only: the word is odd while the region in its slot lives and counts on when it
// is freed. Word 0 tells an owner that closed (2) from one that serves or died (1).
//
// A peer's view of a region is open, then closed with a reason: freed, owner died, peer closed. Closing is
// counted: the mapping goes when the last operation under way has left it. The owner's death shows as the
// end of the connection that the peer keeps to it; a notice on the same connection makes idle peers give
// back the memory of freed regions.
//
// Lock order: the default owner's lock, then an owner's; a link's turn, then the peer's lock. Nothing is
// sent under a lock, save for the greeting, which can't block.
//
// # Order and visibility
//
//   - An operation that returns nil was complete before the region's Close returned. One that raced with
//     Close and lost returns [ErrFreed]; if it was a write or an atomic, it may have taken effect on the
//     payload, which outlives the region as long as anybody has it mapped. An owner must not give the pages
//     of a freed region to something else; it makes a new memfd.
//   - FetchAdd64, CompareSwap64, and reads and writes of eight aligned bytes are single atomic steps,
//     sequentially consistent with the same and with processor atomics on the word, in every process.
//   - Any other transfer is a copy, in no particular order, that others may see in parts. A transfer is
//     ordered after those that the same goroutine completed before.
//   - Operations that begin after an owner has died fail with [ErrOwnerDied] as soon as the kernel has closed
//     the owner's descriptors. A forked child that the owner has left behind with them delays that.
//
// Real adapters promise less: a completed write may be visible only after a later atomic or receive, and
// their atomics need not be atomic against the processor's.
//
// # What is checked where
//
//	users of both sides     owner and peer, by SO_PEERCRED, before the control page is handed out
//	rights                  owner, when it hands out the payload (read-only regions as read-only
//	                        descriptors); peer, at each operation
//	range, alignment        peer, at each operation
//	registered or freed     peer, before and after each operation
//	payload can't shrink    owner at registration, peer before mapping
//	packets                 both sides; nonsense ends the connection
//
// A peer that may have a region at all is trusted with the whole payload, like any process that holds its
// descriptor.
//
// # Errors
//
//	ErrUnknownAddress, ErrOutOfRange, ErrFreed, ErrAccess, ErrPermission   IBV_WC_REM_ACCESS_ERR
//	ErrMisaligned                                                          IBV_WC_REM_INV_REQ_ERR
//	ErrOwnerDied                                                           IBV_WC_RETRY_EXC_ERR
//	ErrTimeout                                                             IBV_WC_RESP_TIMEOUT_ERR
//	ErrProtocol                                                            IBV_WC_BAD_RESP_ERR
//	ErrResources                                                           IBV_WC_LOC_QP_OP_ERR
//	ErrClosed                                                              IBV_WC_WR_FLUSH_ERR
//
// [StatusOf] is this table.
package rdmasim
