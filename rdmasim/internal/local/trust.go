package local

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/config"
	"farside/internal/fd"
	"farside/rdmasim/internal/socket"
	"farside/rdmasim/internal/verbs"
)

// socketName is the abstract unix address at which the owner answers; net's notation.
func socketName(id uint32) string { return fmt.Sprintf(socketPrefix+"%05x", id) }

const socketPrefix = "@farside-rdma-"

// AllowUIDs is the environment variable that lists further user ids, decimal and separated by commas, which
// an owner serves and which a peer believes. Nobody but the process' own effective user is trusted without
// it.
const AllowUIDs = config.AllowUIDs

// trust is the set of users that this process deals with.
type trust []uint32

func readTrust() (trust, error) {
	settings, err := config.Read()
	if err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	return append(trust{uint32(os.Geteuid())}, settings.FabricAllowUIDs...), nil
}

// allows says whether a user, as the kernel names him to this process, is one of those.
func (t trust) allows(uid uint32) bool {
	return slices.Contains(t, uid) && (uid != overflowUID || seesAllUsers())
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

// check finds out who listens, and whether to deal with him.
func (t trust) check(conn *socket.Conn) (*unix.Ucred, error) {
	who, err := otherSide(conn)
	if err != nil {
		return nil, err
	}
	if who.Uid == overflowUID && !t.allows(who.Uid) && slices.Contains(t, who.Uid) {
		return nil, fmt.Errorf("%w: owner runs as user %d, which is anybody without an id in this user namespace",
			verbs.ErrPermission, who.Uid)
	}
	if !t.allows(who.Uid) {
		return nil, fmt.Errorf("%w: owner runs as user %d", verbs.ErrPermission, who.Uid)
	}
	return who, nil
}

// otherSide is who the process at the other end was when it connected or listened.
func otherSide(conn *socket.Conn) (*unix.Ucred, error) {
	var cred *unix.Ucred
	var credErr error
	if err := conn.Control(func(fd int) {
		cred, credErr = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	if credErr != nil {
		return nil, fmt.Errorf("rdmasim: credentials of the other side: %w", credErr)
	}
	return cred, nil
}
