package config

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// environ copies the entries FARSIDE_* of C's environment (environ(7)).
func environ() []string {
	at, err := purego.Dlsym(purego.RTLD_DEFAULT, "environ")
	if err != nil {
		return nil
	}
	variable := *(****byte)(unsafe.Pointer(&at)) // extern char **environ
	var all []string
	for p := *variable; p != nil && *p != nil; p = (**byte)(unsafe.Add(unsafe.Pointer(p), unsafe.Sizeof(p))) {
		n := 0
		for *(*byte)(unsafe.Add(unsafe.Pointer(*p), n)) != 0 {
			n++
		}
		if s := unsafe.String(*p, n); strings.HasPrefix(s, prefix) {
			all = append(all, strings.Clone(s))
		}
	}
	return all
}

// atSecure is AT_SECURE of <elf.h>: the auxiliary vector's entry about privileged processes.
const atSecure = 23

// privileged says whether the kernel calls this process a privileged one. The C library keeps the auxiliary vector
// from the process' start, so that this works without /proc.
var privileged = sync.OnceValue(func() bool {
	getauxval, err := purego.Dlsym(purego.RTLD_DEFAULT, "getauxval")
	if err != nil {
		return true // without an answer nothing is believed
	}
	value, _, _ := purego.SyscallN(getauxval, atSecure)
	return value != 0
})
