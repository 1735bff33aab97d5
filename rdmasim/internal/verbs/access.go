package verbs

import (
	"fmt"
	"strings"
)

// Access is the set of operations that peers may use on a region.
type Access uint32

// The rights of a region, as IBV_ACCESS_REMOTE_READ, _WRITE and _ATOMIC.
const (
	AccessRead Access = 1 << iota
	AccessWrite
	AccessAtomic

	AccessAll = AccessRead | AccessWrite | AccessAtomic
)

var accessNames = [...]string{"read", "write", "atomic"}

// String names the rights, as ParseAccess reads them: "read,write,atomic".
func (a Access) String() string {
	if a == 0 {
		return "none"
	}
	var s []string
	for i, n := range accessNames {
		if a&(1<<i) != 0 {
			s = append(s, n)
		}
	}
	if a&^AccessAll != 0 {
		s = append(s, fmt.Sprintf("%#x", uint32(a&^AccessAll)))
	}
	return strings.Join(s, ",")
}
