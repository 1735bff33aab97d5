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
	MissingFlush         ID = "FARSIDE-noncoherent-missing-flush"
	MissingInvalidate    ID = "FARSIDE-noncoherent-missing-invalidate"
	InvalidateUnflushed  ID = "FARSIDE-noncoherent-invalidate-unflushed"
	Unordered            ID = "FARSIDE-async-unordered"
	MaybeUnordered       ID = "FARSIDE-async-maybe-unordered"
	HostWrote            ID = "FARSIDE-async-host-write"
	HostReads            ID = "FARSIDE-async-host-read"
	HostCopies           ID = "FARSIDE-async-host-copy"
	NotAcquired          ID = "FARSIDE-async-missing-acquire"
	NotReleased          ID = "FARSIDE-async-missing-release"
	MaybeNotTransferred  ID = "FARSIDE-async-maybe-missing-transfer"
	WrittenBeforeAcquire ID = "FARSIDE-async-write-before-acquire"
	MismatchedTransfer   ID = "FARSIDE-async-transfer-mismatch"
	UnalignedRange       ID = "FARSIDE-noncoherent-unaligned-range"
	LeakedObject         ID = "FARSIDE-leaks-object"
	LeftAtExit           ID = "FARSIDE-leaks-at-exit"
	LeakedDescriptor     ID = "FARSIDE-leaks-descriptor"
	TakenDescriptor      ID = "FARSIDE-leaks-taken-descriptor"
	ClosedDescriptor     ID = "FARSIDE-leaks-closed-descriptor"
	UsedDestroyed        ID = "FARSIDE-leaks-used-destroyed"
	OutOfBounds          ID = "FARSIDE-guard-out-of-bounds"
	AfterUnmap           ID = "FARSIDE-guard-after-unmap"
	AfterFree            ID = "FARSIDE-guard-after-free"
	Overrun              ID = "FARSIDE-guard-overrun"
	FreedAddress         ID = "FARSIDE-leaks-freed-address"
	FlushOverDevice      ID = "FARSIDE-noncoherent-flush-over-device"
	StaleRead            ID = "FARSIDE-rdma-stale-read"
	MaybeStaleRead       ID = "FARSIDE-rdma-maybe-stale-read"
	DeviceWrote          ID = "FARSIDE-rdma-device-write"
	UnorderedPeers       ID = "FARSIDE-rdma-unordered-peers"
	TornRead             ID = "FARSIDE-rdma-torn-read"
	MissingFence         ID = "FARSIDE-rdma-missing-fence"
	LocalChanged         ID = "FARSIDE-rdma-local-changed"
	FreedUnderWay        ID = "FARSIDE-rdma-freed-under-way"
	RemoteRange          ID = "FARSIDE-rdma-out-of-range"
	MisalignedAtomic     ID = "FARSIDE-rdma-misaligned-atomic"
	IgnoredFailure       ID = "FARSIDE-rdma-ignored-failure"
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
	{OutOfBounds, slog.LevelError,
		"The application read or wrote before the begin or behind the end of a mapping.",
		"Stay within the range that was mapped."},
	{AfterUnmap, slog.LevelError,
		"The application used a pointer into a mapping that had ended.",
		"Keep the memory mapped for as long as the pointer is used."},
	{AfterFree, slog.LevelError,
		"The application used a pointer into a mapping of memory that had been freed.",
		"Free memory when nobody uses it any more."},
	{Overrun, slog.LevelError,
		"At the end of a mapping, bytes between its end and the end of its last page were not as the driver had left them.",
		"Stay within the range that was mapped."},
	{LeakedObject, slog.LevelError,
		"A device was destroyed, or a context of verbs closed, and one of its objects was not destroyed. The stack says " +
			"where the object was made.",
		"Destroy what was made, before its device."},
	{LeftAtExit, slog.LevelWarn,
		"The process ended with an instance or a device that was never destroyed, or a context of verbs that was never " +
			"closed.",
		"Destroy both before the end. Who lets the process clean up on purpose leaves `leaks` out."},
	{LeakedDescriptor, slog.LevelError,
		"The process ended, and a descriptor that it got for memory, a semaphore or a fence was still open. It was neither " +
			"closed nor imported.",
		"Close descriptors that were sent on or are not needed. An import takes its descriptor over."},
	{TakenDescriptor, slog.LevelError,
		"The application closed a descriptor that belonged to the driver, mostly by close(2) after an import.",
		"Don't close a descriptor that was imported with success, nor any other one twice."},
	{ClosedDescriptor, slog.LevelError,
		"An import was given a number for which the driver once returned a descriptor, which was closed meanwhile.",
		"Import before closing, and close each descriptor once."},
	{UsedDestroyed, slog.LevelError,
		"A command was given a handle whose object had been destroyed, such as memory that is freed twice. The stack says " +
			"where both happened.",
		"Don't use what was destroyed; set the variable to `VK_NULL_HANDLE` then."},
	{Unordered, slog.LevelError,
		"Two commands, of one process or of two, use the same bytes, one of them writes, and nothing orders the two.",
		"A pipeline barrier or an event in one queue, a semaphore between queues and processes, or a fence that the host " +
			"waits for before it submits the second."},
	{MaybeUnordered, slog.LevelWarn,
		"The same, but one of the commands is a dispatch that was given the bytes and may not have read them. Or it has " +
			"changed them in memory that others can write to at the same time.",
		"The same, unless the shader does not use the bytes."},
	{HostWrote, slog.LevelError,
		"The host has written bytes between `vkQueueSubmit` and the command that uses them.",
		"Wait for the fence of the submission before the bytes are written again, or use other memory."},
	{HostReads, slog.LevelWarn,
		"`vkInvalidateMappedMemoryRanges` asked for bytes that a queue writes, and the host had not waited for the queue.",
		"Wait for the fence of the submission first."},
	{HostCopies, slog.LevelWarn,
		"A copy by the host (`vkCopyMemoryToImage` and the like) used a subresource that a queue uses, one of the two " +
			"writes, and nothing orders the two. They may use different texels.",
		"Wait for the fence of the submission first."},
	{NotAcquired, slog.LevelError,
		"A command read bytes that were released to `VK_QUEUE_FAMILY_EXTERNAL` or `VK_QUEUE_FAMILY_FOREIGN_EXT`, and the " +
			"instance that reads has not acquired them since, or only with the old layout UNDEFINED.",
		"A barrier from that queue family before the bytes are read. Of an image it has the layouts of the release."},
	{NotReleased, slog.LevelError,
		"A command read bytes that another instance had written and not released since, in memory that is handed over by " +
			"barriers otherwise.",
		"A barrier to `VK_QUEUE_FAMILY_EXTERNAL` behind what writes, before the semaphore or the fence is signalled."},
	{MaybeNotTransferred, slog.LevelWarn,
		"One of the two above, but the command is a dispatch that was given the bytes and may not have read them, or the " +
			"memory is mapped and the host may have written them.",
		"The same, unless the shader does not use the bytes."},
	{WrittenBeforeAcquire, slog.LevelError,
		"A barrier acquired bytes that the same instance had written after another one had released them. What it wrote " +
			"is undefined.",
		"Acquire first, and write then; or do without the acquire if all that the other instance wrote is written over."},
	{MismatchedTransfer, slog.LevelWarn,
		"A barrier acquired bytes from another queue family than that to which they were released (`EXTERNAL`, `FOREIGN`), " +
			"or acquired an image with layouts that don't go with those of the release.",
		"The same queue family, old layout and new layout in both barriers."},
	{FreedAddress, slog.LevelError,
		"A peer used a remote address after its memory had been freed, or work of a queue pair the region of verbs that " +
			"was registered with it.",
		"Tell peers before memory is freed, and wait for their transfers."},
	{StaleRead, slog.LevelError,
		"A command read bytes that a peer had written and that the device did not see yet: the peer did not know that its " +
			"write had ended, or a command buffer that was under way already read what was written meanwhile.",
		"Let the peer poll its completion before it tells anybody, and submit what reads the bytes after that."},
	{MaybeStaleRead, slog.LevelWarn,
		"The same, but the command is a dispatch that was given the bytes and may not have read them.",
		"The same, unless the shader does not read there."},
	{DeviceWrote, slog.LevelError,
		"A command wrote bytes that a peer was reading or writing.",
		"Let the peer poll its completion before the owner submits what writes there, and the owner wait for its queue " +
			"before the peer goes on."},
	{UnorderedPeers, slog.LevelError,
		"Two peers, or two queue pairs, wrote different things to the same bytes at the same time, or one wrote where the " +
			"other ran an atomic.",
		"Let the first one poll its completion before the second one posts, use one queue pair for both, or atomics for " +
			"both."},
	{TornRead, slog.LevelWarn,
		"A peer read bytes while another one wrote them. It may have got parts of the old and of the new.",
		"As above. Who reads on purpose, and finds out by a checksum or a sequence number, leaves `rdma` out."},
	{MissingFence, slog.LevelError,
		"Work was posted that needs an earlier read or atomic of its queue pair to be done: it writes the bytes that the " +
			"other one reads, or sends the local memory that it fills. Adapters let it overtake.",
		"`IBV_SEND_FENCE` (`FARSIDE_FENCE`), or poll the completion of the first before the second is posted."},
	{LocalChanged, slog.LevelError,
		"The local memory of a posted write or send had other bytes when the adapter took them, or before it had ended.",
		"Leave local memory alone until the completion has been polled."},
	{FreedUnderWay, slog.LevelError,
		"Memory was freed while an operation of a peer on it was under way.",
		"Poll the completions, and let peers poll theirs and say so, before the memory is freed."},
	{RemoteRange, slog.LevelError,
		"A peer's operation reached beyond the end of the memory. It failed with IBV_WC_REM_ACCESS_ERR.",
		"Stay within the memory; an operation can't go on in the next one."},
	{MisalignedAtomic, slog.LevelError,
		"An atomic was asked for at an address that is no multiple of its width. It failed with IBV_WC_REM_INV_REQ_ERR.",
		"Align what atomics are for to 8 bytes."},
	{IgnoredFailure, slog.LevelError,
		"A peer was closed, or a queue pair of verbs destroyed, and nobody had polled the completion of work that failed.",
		"Poll until posted work has ended, and look at the status."},
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
