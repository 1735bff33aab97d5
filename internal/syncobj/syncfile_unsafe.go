package syncobj

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// syncIocFileInfo is linux/sync_file.h's SYNC_IOC_FILE_INFO: _IOWR('>', 4, struct sync_file_info).
const syncIocFileInfo = 0xc0383e04

// syncFileInfo is linux/sync_file.h's struct sync_file_info.
type syncFileInfo struct {
	name   [32]byte
	status int32
	flags  uint32
	fences uint32 // how many have room at list
	_      uint32
	list   uint64
}

// fenceStatus returns the status of a driver's sync file: 1 for signalled, 0 for active, an error below 0 for work that
// failed. ok is false for a descriptor that is none.
func fenceStatus(raw int) (status int32, ok bool) {
	var info syncFileInfo
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(raw), syncIocFileInfo, uintptr(unsafe.Pointer(&info)))
	return info.status, errno == 0
}

// setAccessTime sets the time at which a file was last accessed.
func setAccessTime(raw int, t unix.Timespec) error {
	times := [2]unix.Timespec{t, {Nsec: unix.UTIME_OMIT}}
	// Without a path the call is for raw itself. AT_EMPTY_PATH says the same, from Linux 5.8 on.
	_, _, errno := unix.RawSyscall6(unix.SYS_UTIMENSAT, uintptr(raw), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
