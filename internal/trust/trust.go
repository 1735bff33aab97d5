// Package trust says which users of this host the fabric deals with.
package trust

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/config"
	"farside/internal/fd"
	"farside/internal/socket"
)

// Users is the set of users that this process deals with.
type Users []uint32

// Read returns the process' own effective user and those of FARSIDE_FABRIC_ALLOW_UIDS. Error: a list that can't be
// read.
func Read() (Users, error) {
	settings, err := config.Read()
	if err != nil {
		return nil, err
	}
	return append(Users{uint32(os.Geteuid())}, settings.FabricAllowUIDs...), nil
}

// Allows says whether a user, as the kernel names him to this process, is one of those.
func (u Users) Allows(uid uint32) bool {
	return slices.Contains(u, uid) && (uid != overflowUID || seesAllUsers())
}

// overflowUID is what the kernel calls every user who has no id in this process' user namespace
// (user_namespaces(7)). It is also the id of nobody.
const overflowUID = 65534

// seesAllUsers says whether each user has an id in this process' user namespace, so that overflowUID is one user.
var seesAllUsers = sync.OnceValue(func() bool {
	text, err := fd.ReadFile("/proc/self/uid_map")
	return err == nil && mapsAll(string(text))
})

// mapsAll says whether a uid_map has all ids, which are 0 to 2^32-2.
func mapsAll(text string) bool {
	var inside, outside, n, total uint64
	for line := range strings.Lines(text) {
		if _, err := fmt.Sscan(line, &inside, &outside, &n); err != nil {
			return false
		}
		total += n
	}
	return total == 1<<32-1
}

// Check finds out who the process at the other end of a connection is, and whether to deal with him. The error says why
// not.
func (u Users) Check(conn *socket.Conn) (*unix.Ucred, error) {
	who, err := OtherSide(conn)
	if err != nil {
		return nil, err
	}
	if who.Uid == overflowUID && !u.Allows(who.Uid) && slices.Contains(u, who.Uid) {
		return nil, fmt.Errorf("the other side runs as user %d, which is anybody without an id in this user namespace",
			who.Uid)
	}
	if !u.Allows(who.Uid) {
		return nil, fmt.Errorf("the other side runs as user %d", who.Uid)
	}
	return who, nil
}

// OtherSide is who the process at the other end was when it connected or listened.
func OtherSide(conn *socket.Conn) (*unix.Ucred, error) {
	var cred *unix.Ucred
	var credErr error
	if err := conn.Control(func(fd int) {
		cred, credErr = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	if credErr != nil {
		return nil, fmt.Errorf("credentials of the other side: %w", credErr)
	}
	return cred, nil
}
