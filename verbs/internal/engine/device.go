package engine

import (
	"encoding/binary"
	"math"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fault"
	"farside/internal/ibv"
	"farside/rdmasim"
	"farside/verbs/internal/fabric"
)

// What a device can do at most.
const (
	maxQP         = 1 << 16
	maxQPWR       = 1 << 15
	maxSGE        = 32
	maxInline     = 1024
	maxCQ         = 1 << 16
	maxCQE        = 1 << 22
	maxMR         = 1 << 24
	maxPD         = 1 << 16
	maxMW         = 1 << 24
	maxAH         = 1 << 20
	maxSRQ        = 1 << 16
	maxSRQWR      = 1 << 16
	maxRDAtomic   = 128 // of a queue pair, in each direction
	maxGroups     = 1 << 12
	maxGroupQPs   = 1 << 8
	maxMessage    = 1 << 30 // bytes
	gidTableSize  = 256
	ackDelay      = 15 // 4.096 µs * 2^15: how long an answer may take on a machine that is busy
	subnetTimeout = 18
	hostNumbers   = 1 << 12 // buckets of the table of queue pairs
	commVectors   = 1
	noVendor      = 0xffffff // nobody's; 0 is taken for an adapter that failed to say
)

// Options say what a device is.
type Options struct {
	Name string  // as "farside0"
	GUID uint64  // of node and system image, as a number
	MTU  ibv.MTU // of the port: the largest of paths between hosts, and of datagrams; 0 means 4096
	// Faults are what fails on command; nil for nothing.
	Faults *fault.Plan
	// Late makes work late, lets it overtake where adapters may, and looks for mistakes with it (FARSIDE_STRICT=rdma).
	Late bool
}

// Device is an adapter with one port. Its methods may be called from any goroutine.
type Device struct {
	options Options
	network fabric.Network
	watcher watcher // the network, if it wants to know who sleeps
	keys    keyTable
	timers  timers
	waiting waiting
	groups  groups
	harmed  bool // packets may fail on command
	shared  sharedQueues
	buckets [hostNumbers]atomic.Pointer[QP] // by the low bits of the number; QP.next follows
	start   time.Time
	// management gets the messages of communication management.
	management atomic.Pointer[func(local, remote netip.Addr, mad []byte)]

	mu      sync.Mutex    // of buckets' changes, and peer
	peer    *rdmasim.Peer // for memory of other processes; nil until it is needed
	domains atomic.Uint32 // that there have been
	copies  atomic.Int64  // bytes that strictness has copied of what sends are to send
	// announced are the sends that have not begun, with Options.Late.
	announced announcements
	used      struct{ qps, cqs, mrs, pds, mws, ahs, srqs atomic.Int32 }
}

// watcher is a network that leaves it to threads that poll to deliver what arrives, unless somebody sleeps (shm.Host).
type watcher interface{ Watch(change int) }

// NewDevice makes a device on a network, which becomes its own.
func NewDevice(network fabric.Network, o Options) *Device {
	if o.MTU == 0 {
		o.MTU = ibv.MTU_4096
	}
	d := &Device{options: o, network: network, start: time.Now()}
	d.harmed = o.Faults != nil && o.Faults.Covers("rdma.packet")
	d.watcher, _ = network.(watcher)
	d.keys.init()
	d.timers.init()
	d.waiting.init()
	network.Attach(d)
	return d
}

// Manage sets who gets the messages that come to queue pair 1 (package cm). mad is valid during the call.
func (d *Device) Manage(receive func(local, remote netip.Addr, mad []byte)) {
	d.management.Store(&receive)
}

// Close ends the device's traffic. Its objects must not be used any more.
func (d *Device) Close() {
	d.network.Close()
	d.timers.stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.peer != nil {
		_ = d.peer.Close()
	}
}

// Name is the device's.
func (d *Device) Name() string { return d.options.Name }

// GUID is the node's, as a number.
func (d *Device) GUID() uint64 { return d.options.GUID }

// Vectors is the number of completion vectors.
func (d *Device) Vectors() int { return commVectors }

// Clock is the time in nanoseconds that completions have as their timestamp.
func (d *Device) Clock() uint64 { return uint64(time.Since(d.start)) }

// Attr is what ibv_query_device answers.
func (d *Device) Attr() ibv.DeviceAttr {
	guid := bigEndian64(d.options.GUID)
	a := ibv.DeviceAttr{NodeGUID: guid, SysImageGUID: guid, MaxMRSize: math.MaxInt64,
		PageSizeCap: uint64(os.Getpagesize()), VendorID: noVendor, MaxQP: maxQP, MaxQPWR: maxQPWR,
		DeviceCapFlags: ibv.DEVICE_CURR_QP_STATE_MOD | ibv.DEVICE_PORT_ACTIVE_EVENT | ibv.DEVICE_SYS_IMAGE_GUID |
			ibv.DEVICE_RC_RNR_NAK_GEN | ibv.DEVICE_SRQ_RESIZE | ibv.DEVICE_MEM_WINDOW |
			ibv.DEVICE_MEM_MGT_EXTENSIONS | ibv.DEVICE_MEM_WINDOW_TYPE_2B | ibv.DEVICE_XRC,
		MaxSGE: maxSGE, MaxSGERD: maxSGE, MaxCQ: maxCQ, MaxCQE: maxCQE, MaxMR: maxMR - 1, MaxPD: maxPD,
		MaxQPRDAtom: maxRDAtomic, MaxResRDAtom: maxRDAtomic * maxQP, MaxQPInitRDAtom: maxRDAtomic,
		AtomicCap: ibv.ATOMIC_GLOB, MaxMW: maxMW - 1, MaxMcastGrp: maxGroups, MaxMcastQPAttach: maxGroupQPs,
		MaxTotalMcastQPAttach: maxGroups * maxGroupQPs, MaxAH: maxAH, MaxSRQ: maxSRQ, MaxSRQWR: maxSRQWR,
		MaxSRQSGE: maxSGE, MaxPKeys: 1, LocalCAAckDelay: ackDelay, PhysPortCnt: 1}
	copy(a.FWVer[:], "1.0")
	return a
}

// PortAttr is what ibv_query_port answers. Error: EINVAL for another port than 1.
func (d *Device) PortAttr(port uint8) (ibv.PortAttr, error) {
	if port != 1 {
		return ibv.PortAttr{}, unix.EINVAL
	}
	const (
		width4x       = 2
		speed25       = 32
		stateLinkUp   = 5
		noVirtualLane = 1
	)
	return ibv.PortAttr{State: ibv.PORT_ACTIVE, MaxMTU: ibv.MTU_4096, ActiveMTU: d.options.MTU,
		GIDTblLen: gidTableSize, PortCapFlags: ibv.PORT_CM_SUP | ibv.PORT_IP_BASED_GIDS, MaxMsgSz: maxMessage,
		PKeyTblLen: 1, MaxVLNum: noVirtualLane, SubnetTimeout: subnetTimeout, ActiveWidth: width4x,
		ActiveSpeed: speed25, PhysState: stateLinkUp, LinkLayer: ibv.LINK_LAYER_ETHERNET}, nil
}

// GIDs is the size of the port's table of GIDs. Behind the addresses of the host it has empty entries.
func (d *Device) GIDs() int { return gidTableSize }

// GID returns an entry of the table: a GID of RoCE v2, or false for an empty entry.
func (d *Device) GID(index int) (ibv.GID, bool) {
	a, ok := d.address(index)
	if !ok {
		return ibv.GID{}, false
	}
	return a.As16(), true
}

func (d *Device) address(index int) (netip.Addr, bool) {
	all := d.network.Addresses()
	if index < 0 || index >= len(all) || index >= gidTableSize {
		return netip.Addr{}, false
	}
	return all[index], true
}

// AddressOf is the address that a GID stands for.
func AddressOf(gid ibv.GID) netip.Addr { return netip.AddrFrom16(gid).Unmap() }

// bigEndian64 is the number whose bytes in memory are v's in the order of the wire.
func bigEndian64(v uint64) uint64 {
	return binary.NativeEndian.Uint64(binary.BigEndian.AppendUint64(nil, v))
}

// find returns the queue pair of a number, or nil.
func (d *Device) find(number uint32) *QP {
	for q := d.buckets[number%hostNumbers].Load(); q != nil; q = q.next.Load() {
		if q.number == number {
			return q
		}
	}
	return nil
}

// each calls f for each queue pair.
func (d *Device) each(f func(*QP)) {
	for i := range d.buckets {
		for q := d.buckets[i].Load(); q != nil; q = q.next.Load() {
			f(q)
		}
	}
}

func (d *Device) insert(q *QP) {
	d.mu.Lock()
	defer d.mu.Unlock()
	head := &d.buckets[q.number%hostNumbers]
	q.next.Store(head.Load())
	head.Store(q)
}

// remove takes a queue pair out. Its own next stays, for lookups that are at it.
func (d *Device) remove(q *QP) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := &d.buckets[q.number%hostNumbers]
	for p := at.Load(); p != nil; p = at.Load() {
		if p == q {
			at.Store(q.next.Load())
			return
		}
		at = &p.next
	}
}

// take counts an object of which there are at most limit. Error: ENOMEM.
func take(count *atomic.Int32, limit int32) error {
	if count.Add(1) > limit {
		count.Add(-1)
		return unix.ENOMEM
	}
	return nil
}
