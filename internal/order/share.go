package order

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// Processes that share memory tell each other what they do to it, what they signal, and what their hosts have learned.
// Each has a log in a directory that only its user can reach, appends to it, and reads those of the others. So there is
// one writer for each log, and nobody waits for anybody. A writer that is killed leaves an entry that never gets whole
// at the end of its log; a lock that goes with the process shows that nothing follows.
//
// A log whose process is gone is deleted by the next one that sees it, and the directory goes with the last log. The
// accesses of a process that is gone are forgotten: its end has come before all that others do from then on.
//
// Logs are read by pread(2), never mapped. One with nonsense in it, or one that can't be read or written, ends the
// sharing for this process: from then on waits for what others can signal order all that came before, and nothing of
// others is found.

// Bounds of what is read and written.
const (
	mostLog    = 4 << 20 // bytes after which a log begins anew
	mostRead   = 4 * mostLog
	mostPeers  = 256
	mostRounds = 8 // as often may logs move while they are read
)

const logPrefix, newPrefix = "log-", "new-"

// errUnshared is why sharing has ended.
var errUnshared = errors.New("the logs of other processes can't be used")

// share is a process' part in the directory.
type share struct {
	path      string
	dir       *fd.FD
	file      *fd.FD // the log; this process' lock is on it
	name      string
	dev, ino  uint64 // of file: an application may have closed its descriptor
	size      int64
	header    header
	peers     map[string]*peer
	published Known // what the host has told
	buffer    []byte
}

// peer is another process, as its log tells.
type peer struct {
	header header
	file   *fd.FD
	offset int64
	moved  bool
}

// String names the process in messages.
func (p *peer) String() string {
	if p.header.name == "" {
		return fmt.Sprintf("process %d", p.header.process)
	}
	return fmt.Sprintf("process %d (%s)", p.header.process, p.header.name)
}

// Directory is where the logs of a user's processes lie.
func Directory() string { return fmt.Sprintf("/dev/shm/farside-async-%d", unix.Geteuid()) }

// Share makes the process tell others of accesses to shared memory, and learn of theirs, by logs in a directory that is
// made if it does not exist. It does nothing if it does so already, or has failed before. Errors: those of the
// directory and of the log.
func (t *Tracker) Share(directory string) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.share != nil || t.refused {
		return nil
	}
	defer func() { t.refused = err != nil || t.refused }()
	for range 3 { // the last process of others may delete the directory
		var s *share
		if s, err = openShare(directory, t.host.agent&^(1<<agentBits-1)); err == nil {
			t.share = s
			t.tellHost()
			t.learn()
			return nil
		}
		if !errors.Is(err, unix.ENOENT) {
			break
		}
	}
	return err
}

// Close ends the sharing, until the next Share; the log is deleted.
func (t *Tracker) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unshare()
}

func openShare(directory string, first Agent) (_ *share, err error) {
	if err := unix.Mkdir(directory, 0o700); err != nil && err != unix.EEXIST {
		return nil, fmt.Errorf("mkdir %s: %w", directory, err)
	}
	dir, err := fd.Open(directory, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", directory, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(dir.Int(), &st); err != nil || int(st.Uid) != unix.Geteuid() || st.Mode&0o077 != 0 {
		_ = dir.Close()
		return nil, fmt.Errorf("%s is not this user's alone (owner %d, mode %#o): %w", directory, st.Uid, st.Mode&0o7777,
			errUnshared)
	}
	comm, _ := fd.ReadFile("/proc/self/comm") // a message without the name is as good
	sweep(dir)
	s := &share{path: directory, dir: dir, name: fmt.Sprintf("%s%016x", logPrefix, uint64(first)),
		peers: map[string]*peer{}, header: header{uint32(unix.Getpid()), first, strings.TrimSpace(string(comm))},
		buffer:    make([]byte, 64<<10),
		published: Known{clock: Clock{}}}
	if err := s.begin(nil); err != nil {
		_ = dir.Close()
		return nil, err
	}
	return s, nil
}

// sweep deletes what processes have left that were killed while they made a log.
func sweep(dir *fd.FD) {
	names, err := list(dir, make([]byte, 8<<10))
	if err != nil {
		return
	}
	for _, name := range names {
		var st unix.Stat_t
		if strings.HasPrefix(name, newPrefix) && unix.Fstatat(dir.Int(), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil &&
			time.Since(time.Unix(st.Mtim.Unix())) > time.Minute {
			_ = unix.Unlinkat(dir.Int(), name, 0)
		}
	}
}

// list returns what is in a directory.
func list(dir *fd.FD, buffer []byte) (names []string, err error) {
	if _, err := unix.Seek(dir.Int(), 0, unix.SEEK_SET); err != nil {
		return nil, err
	}
	for {
		n, err := unix.ReadDirent(dir.Int(), buffer)
		if n <= 0 || err != nil {
			return names, err
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

// begin makes a log with some entries, locked, in place of the one that there may be.
func (s *share) begin(entries []byte) error {
	temporary := newPrefix + s.name
	raw, err := unix.Openat(s.dir.Int(), temporary, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW,
		0o600)
	file, err := fd.Fresh(raw, err)
	if err != nil {
		return fmt.Errorf("make a log: %w", err)
	}
	fail := func(what string, err error) error {
		_ = unix.Unlinkat(s.dir.Int(), temporary, 0)
		_ = file.Close()
		return fmt.Errorf("%s: %w", what, err)
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: unix.SEEK_SET}
	if err := unix.FcntlFlock(uintptr(file.Int()), unix.F_OFD_SETLK, &lock); err != nil {
		return fail("lock a log", err)
	}
	content := append(s.header.encode(), entries...)
	if n, err := unix.Pwrite(file.Int(), content, 0); err != nil || n != len(content) {
		return fail("write a log", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(file.Int(), &st); err != nil {
		return fail("stat a log", err)
	}
	if err := unix.Renameat(s.dir.Int(), temporary, s.dir.Int(), s.name); err != nil {
		return fail("name a log", err)
	}
	s.file, s.dev, s.ino, s.size = file, st.Dev, st.Ino, int64(len(content))
	return nil
}

// unshare ends the sharing.
func (t *Tracker) unshare() {
	s := t.share
	if s == nil {
		return
	}
	t.share = nil
	for _, p := range s.peers {
		t.bury(p)
		_ = p.file.Close()
	}
	for k := range t.points {
		if k.Scope != Local {
			t.forget(k)
		}
	}
	_ = unix.Unlinkat(s.dir.Int(), s.name, 0)
	_ = s.file.Close()
	_ = s.dir.Close()
	_ = unix.Rmdir(s.path) // it fails while others have logs there
}

// tell appends an entry to the log.
func (t *Tracker) tell(e *entry) {
	s := t.share
	if s == nil {
		return
	}
	e.known = t.bounded(e.known)
	if !s.write(e.append(s.buffer[:0])) || s.size > mostLog && !t.renew() {
		t.refuse()
	}
}

// refuse ends the sharing for good.
func (t *Tracker) refuse() {
	t.unshare()
	t.refused = true
}

// bounded is k as others can take it: who knows that much knows all.
func (t *Tracker) bounded(k Known) Known {
	if len(k.clock) > mostClock {
		return Known{floor: t.number()}
	}
	return k
}

// write appends to the log, if that is still what its descriptor is.
func (s *share) write(b []byte) bool {
	var st unix.Stat_t
	if unix.Fstat(s.file.Int(), &st) != nil || st.Dev != s.dev || st.Ino != s.ino {
		return false
	}
	n, err := unix.Pwrite(s.file.Int(), b, s.size)
	if err != nil || n != len(b) {
		return false
	}
	s.size += int64(n)
	return true
}

// renew begins the log anew, with what is known but for accesses.
func (t *Tracker) renew() bool {
	s := t.share
	host := entry{kind: entryHost, known: t.bounded(t.host.seen)}
	entries := host.append(nil)
	for k, list := range t.points {
		if k.Scope == Local {
			continue
		}
		for _, p := range list {
			e := entry{kind: entryPoint, key: k, value: p.value, known: t.bounded(p.known), record: record{number: p.number}}
			entries = e.append(entries)
			if len(entries) > mostLog/2 {
				return false
			}
		}
	}
	for id, other := range t.same {
		e := entry{kind: entrySame, memory: other, other: id}
		entries = e.append(entries)
	}
	old := *s
	if s.begin(entries) != nil {
		return false
	}
	moved := entry{kind: entryMoved}
	ok := old.write(moved.append(nil))
	_ = old.file.Close()
	return ok
}

func (t *Tracker) tellAccess(id uint64, r *record) {
	t.tell(&entry{kind: entryAccess, memory: id, record: *r})
}

// tellPoint tells of a payload's last signal.
func (t *Tracker) tellPoint(k Key) {
	if list := t.points[k]; k.Scope != Local && len(list) > 0 {
		p := list[len(list)-1]
		t.tell(&entry{kind: entryPoint, key: k, value: p.value, known: p.known, record: record{number: p.number}})
	}
}

func (t *Tracker) tellSame(id, other uint64) {
	t.tell(&entry{kind: entrySame, memory: id, other: other})
}

// tellHost tells what the host has learned since the last time.
func (t *Tracker) tellHost() {
	s := t.share
	if s == nil {
		return
	}
	e := entry{kind: entryHost, known: Known{clock: Clock{}, floor: t.host.seen.floor}}
	for a, epoch := range t.host.seen.clock {
		if s.published.clock[a] < epoch {
			e.known.clock[a] = epoch
		}
	}
	if len(e.known.clock) == 0 && e.known.floor == s.published.floor {
		return
	}
	s.published.join(e.known)
	t.tell(&e)
}

// learn reads what others have told.
func (t *Tracker) learn() {
	if t.share != nil && t.read() != nil {
		t.refuse()
	}
}

// read looks for other processes, and reads their logs.
func (t *Tracker) read() error {
	s := t.share
	again := true
	for round := 0; again; round++ {
		if again = false; round == mostRounds {
			return errUnshared // a log that is nobody's moves to itself
		}
		if err := s.look(); err != nil {
			return err
		}
		for name, p := range s.peers {
			alive := p.alive()
			if err := t.readPeer(p); err != nil {
				return err
			}
			switch {
			case p.moved:
				again = true // its next log is there
			case alive:
				continue
			default:
				t.bury(p)
				t.tellHost() // what only its log has
				s.remove(name, p)
			}
			_ = p.file.Close()
			delete(s.peers, name)
		}
	}
	return nil
}

// look opens the logs in the directory that are not known yet.
func (s *share) look() error {
	names, err := list(s.dir, s.buffer)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == s.name || !strings.HasPrefix(name, logPrefix) || s.peers[name] != nil {
			continue
		}
		if len(s.peers) >= mostPeers {
			return errUnshared
		}
		raw, err := unix.Openat(s.dir.Int(), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		file, err := fd.Fresh(raw, err)
		if err == unix.ENOENT {
			continue // it is gone meanwhile
		}
		if err != nil {
			return err
		}
		p := &peer{file: file, offset: headerSize}
		head := s.buffer[:headerSize]
		if n, err := unix.Pread(file.Int(), head, 0); err == nil && n == headerSize {
			p.header, err = parseHeader(head)
			if err == nil && name == fmt.Sprintf("%s%016x", logPrefix, uint64(p.header.first)) {
				s.peers[name] = p
				continue
			}
		}
		_ = file.Close()
		return errUnshared
	}
	return nil
}

// alive says whether the process that writes the log is there. It says so of one where locks don't work.
func (p *peer) alive() bool {
	lock := unix.Flock_t{Type: unix.F_RDLCK, Whence: unix.SEEK_SET}
	err := unix.FcntlFlock(uintptr(p.file.Int()), unix.F_OFD_GETLK, &lock)
	return err != nil || lock.Type != unix.F_UNLCK
}

// remove deletes the log of a process that is gone, unless it did that, or has another one.
func (s *share) remove(name string, p *peer) {
	var st, now unix.Stat_t
	if unix.Fstat(p.file.Int(), &st) == nil && unix.Fstatat(s.dir.Int(), name, &now, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		st.Ino == now.Ino {
		_ = unix.Unlinkat(s.dir.Int(), name, 0)
	}
}

// readPeer reads what a log has more. An entry that isn't whole yet is read again.
func (t *Tracker) readPeer(p *peer) error {
	b := t.share.buffer
	for total := 0; !p.moved; {
		n, err := unix.Pread(p.file.Int(), b, p.offset)
		if err != nil {
			return err
		}
		used := 0
		for !p.moved {
			e, size, err := parseEntry(b[used:n])
			if err != nil {
				return err
			}
			if size == 0 {
				break
			}
			used += size
			if err := t.take(p, &e); err != nil {
				return err
			}
		}
		if used == 0 {
			return nil
		}
		p.offset += int64(used)
		if total += used; total > mostRead {
			return errUnshared
		}
	}
	return nil
}

// take notes what a process has told.
func (t *Tracker) take(p *peer, e *entry) error {
	switch e.kind {
	case entryAccess:
		r := e.record
		if of := r.owner &^ (1<<agentBits - 1); r.agent&^(1<<agentBits-1) != p.header.first || r.Begin > r.End ||
			of != p.header.first && r.owner != 0 {
			return errEntry
		}
		r.Process = p.String()
		id := t.canonical(e.memory)
		if t.memories[id] == nil && len(t.memories) >= mostMemories {
			t.dropMemory()
		}
		h := t.history(id)
		if !r.Kind.isAccess() {
			t.replace(id, h, &r)
		}
		t.remember(id, h, &r)
	case entryPoint:
		t.put(e.key, point{e.value, e.record.number, e.known})
	case entryHost:
		t.host.seen.join(e.known)
		if len(t.host.seen.clock) > 4*mostClock {
			return errEntry
		}
	case entrySame:
		t.same[e.other] = e.memory
	case entryMoved:
		p.moved = true
	}
	return nil
}

// dropMemory forgets some memory that only other processes have used.
func (t *Tracker) dropMemory() {
	own := t.host.agent &^ (1<<agentBits - 1)
next:
	for id, h := range t.memories {
		for _, r := range h.all() {
			if r.agent&^(1<<agentBits-1) == own {
				continue next
			}
		}
		delete(t.memories, id)
		delete(t.handed, id)
		return
	}
}

// bury forgets the accesses of a process that is gone.
func (t *Tracker) bury(p *peer) {
	for id, h := range t.memories {
		for i, r := range h.all() {
			if r.agent&^(1<<agentBits-1) == p.header.first {
				h.drop(i)
			}
		}
		if h.count() == 0 {
			delete(t.memories, id)
			delete(t.handed, id)
		}
	}
}
