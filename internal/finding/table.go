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
	MissingFlush        ID = "FARSIDE-noncoherent-missing-flush"
	MissingInvalidate   ID = "FARSIDE-noncoherent-missing-invalidate"
	InvalidateUnflushed ID = "FARSIDE-noncoherent-invalidate-unflushed"
	Unordered           ID = "FARSIDE-async-unordered"
	MaybeUnordered      ID = "FARSIDE-async-maybe-unordered"
	HostWrote           ID = "FARSIDE-async-host-write"
	HostReads           ID = "FARSIDE-async-host-read"
	UnalignedRange      ID = "FARSIDE-noncoherent-unaligned-range"
	LeakedObject        ID = "FARSIDE-leaks-object"
	LeftAtExit          ID = "FARSIDE-leaks-at-exit"
	LeakedDescriptor    ID = "FARSIDE-leaks-descriptor"
	TakenDescriptor     ID = "FARSIDE-leaks-taken-descriptor"
	ClosedDescriptor    ID = "FARSIDE-leaks-closed-descriptor"
	UsedDestroyed       ID = "FARSIDE-leaks-used-destroyed"
	OutOfBounds         ID = "FARSIDE-guard-out-of-bounds"
	AfterUnmap          ID = "FARSIDE-guard-after-unmap"
	AfterFree           ID = "FARSIDE-guard-after-free"
	Overrun             ID = "FARSIDE-guard-overrun"
	FreedAddress        ID = "FARSIDE-leaks-freed-address"
	FlushOverDevice     ID = "FARSIDE-noncoherent-flush-over-device"
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
		"A device was destroyed, and one of its objects was not. The stack says where the object was made.",
		"Destroy what was made, before its device."},
	{LeftAtExit, slog.LevelWarn,
		"The process ended with an instance or a device that was never destroyed.",
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
		"Two commands use the same bytes, one of them writes, and nothing orders the two.",
		"A pipeline barrier or an event in one queue, a semaphore between queues and processes, or a fence that the host " +
			"waits for before it submits the second."},
	{MaybeUnordered, slog.LevelWarn,
		"The same, but one of the commands is a dispatch that was given the bytes and may not have read them.",
		"The same, unless the shader does not read there."},
	{HostWrote, slog.LevelError,
		"The host has written bytes between `vkQueueSubmit` and the command that reads them.",
		"Wait for the fence of the submission before the bytes are written again, or use other memory."},
	{HostReads, slog.LevelWarn,
		"`vkInvalidateMappedMemoryRanges` asked for bytes that a queue writes, and the host had not waited for the queue.",
		"Wait for the fence of the submission first."},
	{FreedAddress, slog.LevelError,
		"A peer used a remote address after its memory had been freed.",
		"Tell peers before memory is freed, and wait for their transfers."},
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
