package rdmasim

import (
	"fmt"
	"strings"

	"farside/internal/config"
)

// ParseAccess reads a list of "read", "write" and "atomic", separated by commas, or one of the short forms
// "ro" (read) and "rw" (read and write). An empty list is an error.
func ParseAccess(list string) (Access, error) {
	var a Access
	for f := range strings.SplitSeq(list, ",") {
		switch strings.TrimSpace(f) {
		case "read", "ro":
			a |= AccessRead
		case "write":
			a |= AccessWrite
		case "atomic":
			a |= AccessAtomic
		case "rw":
			a |= AccessRead | AccessWrite
		default:
			return 0, fmt.Errorf("rdmasim: %q is no right: read, write, atomic, ro, rw", f)
		}
	}
	return a, nil
}

// AccessVariable is the environment variable that restricts the rights on every region of the process, in
// the form that ParseAccess reads. Unset or empty, peers may do everything.
const AccessVariable = config.Access

// AccessFor is the rights on a region of this name: those of FARSIDE_FABRIC_ACCESS, and of these the ones in
// the name's suffix, if it ends with some in brackets: "weights [ro]", "mailbox[write,atomic]". A suffix that
// holds something else is part of the name. Errors: a variable that can't be read; ErrAccess when nothing is
// left.
func AccessFor(name string) (Access, error) {
	settings, err := config.Read()
	if err != nil {
		return 0, fmt.Errorf("rdmasim: %w", err)
	}
	access := AccessAll
	if settings.FabricAccess != nil {
		if access, err = ParseAccess(strings.Join(settings.FabricAccess, ",")); err != nil {
			return 0, err
		}
	}
	if list, ok := strings.CutSuffix(strings.TrimSpace(name), "]"); ok {
		if i := strings.LastIndexByte(list, '['); i >= 0 {
			if suffix, err := ParseAccess(list[i+1:]); err == nil {
				access &= suffix
			}
		}
	}
	if access == 0 {
		return 0, fmt.Errorf("rdmasim: the name %q and %s leave no right: %w", name, AccessVariable, ErrAccess)
	}
	return access, nil
}
