package cabi

import (
	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

// A system call makes the processor forget where the functions that are active return to: each return after it is
// predicted wrongly, which takes 8 ns on Zen 5. From a command's function to C there are some twenty of them, so they
// take longer than the duplication of a descriptor. That is why the stub duplicates, when Go has returned.
const (
	duplicateFD = unix.F_DUPFD_CLOEXEC // fcntl(2)
	lowestFD    = 3                    // package fd has the reason
	unlendable  = -1
)

// LendMemoryFD sets a function that vkGetMemoryFdKHR asks first, if its arguments can be addresses: it returns the
// descriptor that the command would duplicate, which stays whose it is, or false where there is more to do. Then, and
// where the duplication fails, the command itself is called. Call it once, before C may call any command.
func LendMemoryFD(lend func(vk.Device, *vk.MemoryGetFdInfoKHR) (fd int, ok bool)) {
	i, _ := vk.CommandIndex("vkGetMemoryFdKHR")
	dispatchers[indices[i]] = func(f *Frame) {
		if f.lent != unlendable {
			if fd, ok := lend(vk.Device(f.word(0)), (*vk.MemoryGetFdInfoKHR)(f.pointer(1))); ok {
				f.lend(fd, (*int32)(f.pointer(2)))
				return
			}
		}
		f.lent = 0
		callGetMemoryFdKHR(f)
	}
}

// lend has the stub duplicate fd and answer VK_SUCCESS. A wild address faults here, where that is no crash.
func (f *Frame) lend(fd int, into *int32) {
	*into = -1
	f.lent, f.into, f.result = int64(fd), into, 0
}
