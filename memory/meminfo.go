package memory

import (
	"bytes"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// meminfo returns a field of /proc/meminfo, such as "MemTotal:", in bytes; 0 where it can't be read. It makes
// three system calls and next to no garbage, so that a budget query may call it.
func meminfo(field string) uint64 {
	f, err := fd.Open("/proc/meminfo", unix.O_RDONLY, 0)
	if err != nil {
		return 0
	}
	var buf [512]byte
	n, err := unix.Read(f.Int(), buf[:])
	_ = f.Close()
	if err != nil || n <= 0 {
		return 0
	}
	return meminfoField(buf[:n], field)
}

// meminfoField parses one line of /proc/meminfo's text; the kernel's "kB" is 1024 bytes.
func meminfoField(text []byte, field string) uint64 {
	i := bytes.Index(text, []byte(field))
	if i < 0 {
		return 0
	}
	var n uint64
	digits := false
	for _, c := range text[i+len(field):] {
		if c >= '0' && c <= '9' {
			n = n*10 + uint64(c-'0')
			digits = true
		} else if digits || c != ' ' {
			break
		}
	}
	return n * 1024
}
