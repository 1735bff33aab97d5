package verbs

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/bell"
	"farside/verbs/internal/cm"
	"farside/verbs/internal/engine"
)

var (
	errNoID           = errors.New("no such identifier")
	errNoEventChannel = errors.New("no such event channel")
	errPortSpace      = errors.New("no such port space")
)

// eventChannel is an rdma_event_channel.
type eventChannel struct {
	at     uintptr
	engine *cm.Channel
}

// identifier is an rdma_cm_id.
type identifier struct {
	at      uintptr
	engine  *cm.ID
	manager *communication

	mu      sync.Mutex
	channel *eventChannel
	alone   bool // has a channel of its own: calls wait until they are done (man rdma_create_id)
	qp      *queuePair
	pd      *protectionDomain
	onNew   *ibv.QPInitAttr // of a listener: what queue pairs of its requests are made with (rdma_create_ep)
	onNewPD uintptr
	asked   cm.Parameters // of the other side, of a request
	ending  atomic.Bool
}

var (
	eventChannels = newSlots[eventChannel, ibv.EventChannel](1 << 16)
	identifiers   = newSlots[identifier, ibv.CMID](1 << 18)
)

// communication is what librdmacm needs of a device: its context, a protection domain for queue pairs that are made
// without one, and who manages its connections.
type communication struct {
	manager *cm.Manager
	context *openContext
	domain  *protectionDomain
}

// theCommunication is that of the first device, which has all addresses of the host.
var theCommunication = onSuccess(func() (*communication, error) {
	list, err := allDevices()
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, unix.ENODEV
	}
	ctx, err := newContext(list[0])
	if err != nil {
		return nil, err
	}
	p, err := newPD(nil, ctx)
	if err != nil {
		return nil, err
	}
	return &communication{manager: list[0].manager, context: ctx, domain: p}, nil
})

func createEventChannel(c *cabi.Call) {
	ch, err := newEventChannel()
	if err != nil {
		fail(c, unix.ENOMEM, err)
		return
	}
	c.Result = ch.at
}

func newEventChannel() (*eventChannel, error) {
	if _, err := theCommunication(); err != nil {
		return nil, err
	}
	e, err := cm.NewChannel()
	if err != nil {
		return nil, err
	}
	ch := &eventChannel{engine: e}
	_, err = eventChannels.insert(ch, func(address uintptr) {
		ch.at = address
		at[ibv.EventChannel](address).FD = int32(e.FD())
	})
	if err != nil {
		e.Close()
		return nil, err
	}
	return ch, nil
}

func destroyEventChannel(c *cabi.Call) {
	if ch := eventChannels.remove(c.Args[0]); ch != nil {
		ch.engine.Close()
	}
}

// createID is rdma_create_id: channel, where the identifier goes, user's context, port space.
func createID(c *cabi.Call) {
	space := ibv.PortSpace(c.Args[3])
	id, err := newID(c.Args[0], c.Args[2], space)
	if err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	*at[uintptr](c.Args[1]) = id.at
}

// newID makes an identifier. Without a channel it gets one of its own, and calls wait.
func newID(channel, user uintptr, space ibv.PortSpace) (*identifier, error) {
	m, err := theCommunication()
	if err != nil {
		return nil, err
	}
	kind := ibv.QPT_RC
	switch space {
	case ibv.RDMA_PS_TCP, ibv.RDMA_PS_IB:
	case ibv.RDMA_PS_UDP, ibv.RDMA_PS_IPOIB:
		kind = ibv.QPT_UD
	default:
		return nil, errPortSpace
	}
	id := &identifier{manager: m, alone: channel == 0}
	if id.alone {
		if id.channel, err = newEventChannel(); err != nil {
			return nil, err
		}
	} else if id.channel = eventChannels.get(channel); id.channel == nil {
		return nil, errNoEventChannel
	}
	id.engine = m.manager.NewID(id.channel.engine, space)
	id.engine.User = id
	if err := id.publish(user, space, kind); err != nil {
		id.end()
		return nil, err
	}
	return id, nil
}

// publish gives the identifier its structure.
func (id *identifier) publish(user uintptr, space ibv.PortSpace, kind ibv.QPType) error {
	_, err := identifiers.insert(id, func(address uintptr) {
		id.at = address
		*at[ibv.CMID](address) = ibv.CMID{Channel: id.channel.at, Context: user, PS: space, QPType: kind}
	})
	return err
}

// end destroys what the identifier has.
func (id *identifier) end() {
	id.engine.Destroy()
	if id.alone {
		if eventChannels.remove(id.channel.at) != nil {
			id.channel.engine.Close()
		}
	}
}

// destroyID is rdma_destroy_id. It waits until the events of the identifier are acknowledged.
func destroyID(c *cabi.Call) {
	id := identifiers.get(c.Args[0])
	if id == nil || !id.ending.CompareAndSwap(false, true) {
		fail(c, unix.EINVAL, errNoID)
		return
	}
	if e := at[ibv.CMID](id.at).Event; e != 0 { // that of the last call that waited
		ackEvent(e)
	}
	id.end()
	identifiers.remove(id.at)
}

// idOf is the identifier that is a call's first argument; nil after the call has failed.
func idOf(c *cabi.Call) *identifier {
	id := identifiers.get(c.Args[0])
	if id == nil {
		fail(c, unix.EINVAL, errNoID)
	}
	return id
}

// settle ends a call of an identifier: with an error, or, where it has its own channel, when its event has come. how is
// how that is taken: libibverbs waits for it where the other side is asked (wait_for_event in resolve.c), and what
// comes without it is there already.
func (id *identifier) settle(c *cabi.Call, err error, how bell.Mode) {
	switch {
	case err != nil:
		fail(c, unix.EINVAL, err)
	case id.alone:
		id.await(c, how)
	}
}

// await is wait for a call. It says whether the event has come and is not one that says no.
func (id *identifier) await(c *cabi.Call, how bell.Mode) bool {
	err := id.wait(how)
	switch {
	case err == bell.ErrEmpty:
		c.Result = uintptr(waitFor + id.channel.engine.FD())
	case err != nil:
		fail(c, unix.EINVAL, err)
	}
	return err == nil
}

// wait takes the next event of an identifier that has its own channel, keeps it where the application sees it, and
// turns one that says no into an error, as rdma-core does. Error: bell.ErrEmpty.
func (id *identifier) wait(how bell.Mode) error {
	seen := at[ibv.CMID](id.at)
	if seen.Event != 0 {
		ackEvent(seen.Event)
		seen.Event = 0
	}
	e, err := nextEvent(id.channel, how)
	if err != nil {
		return err
	}
	seen.Event = e
	switch event := at[ibv.CMEvent](e); {
	case event.Status == 0:
		return nil
	case event.Event == ibv.RDMA_CM_EVENT_REJECTED:
		return unix.ECONNREFUSED
	case event.Status < 0:
		return unix.Errno(-event.Status)
	default:
		return unix.Errno(event.Status)
	}
}

// finish ends a call that no event follows.
func finish(c *cabi.Call, err error) {
	if err != nil {
		fail(c, unix.EINVAL, err)
	}
}

// bindAddr is rdma_bind_addr: identifier, address.
func bindAddr(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	a, err := socketAddress(c.Args[1])
	if err == nil && !a.IsValid() {
		err = unix.EINVAL
	}
	if err == nil {
		err = id.engine.Bind(a)
	}
	if err == nil {
		id.bound(a.Addr())
	}
	finish(c, err)
}

// bound tells the application what its identifier is bound to. As in the kernel, an address of loopback stands for any
// device: libfabric then looks for an address by which other hosts reach it. On a host that has no other address, it is
// the device's.
func (id *identifier) bound(a netip.Addr) {
	id.putAddresses()
	first, ok := id.manager.context.engine.Device.GID(0)
	if a.IsUnspecified() || a.IsLoopback() && ok && !engine.AddressOf(first).IsLoopback() {
		return
	}
	id.putDevice()
}

// putDevice tells the application on which device the identifier is, and which domain its objects may be in.
func (id *identifier) putDevice() {
	s := at[ibv.CMID](id.at)
	s.Verbs, s.PortNum = id.manager.context.at, 1
	if s.PD == 0 {
		s.PD = id.manager.domain.at
	}
}

// resolveAddr is rdma_resolve_addr: identifier, source or none, destination, timeout.
func resolveAddr(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	source, err := socketAddress(c.Args[1])
	destination, err2 := socketAddress(c.Args[2])
	if err = errors.Join(err, err2); err == nil && !destination.IsValid() {
		err = unix.EINVAL
	}
	if err == nil {
		err = id.engine.ResolveAddress(source, destination)
	}
	if err == nil {
		id.putAddresses()
		id.putDevice()
	}
	id.settle(c, err, bell.Waits)
}

// resolveRoute is rdma_resolve_route: identifier, timeout.
func resolveRoute(c *cabi.Call) {
	if id := idOf(c); id != nil {
		id.settle(c, id.engine.ResolveRoute(), bell.Waits)
	}
}

// listen is rdma_listen: identifier, backlog.
func listen(c *cabi.Call) {
	if id := idOf(c); id != nil {
		err := id.engine.Listen(int(c.Int(1)))
		if err == nil {
			id.putAddresses()
		}
		finish(c, err)
	}
}

// migrateID is rdma_migrate_id: identifier, channel or none.
func migrateID(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	var err error
	to, alone := eventChannels.get(c.Args[1]), c.Args[1] == 0
	if alone {
		to, err = newEventChannel()
	}
	if to == nil {
		fail(c, unix.EINVAL, errors.Join(errNoEventChannel, err))
		return
	}
	id.move(to, alone)
}

// move gives an identifier another channel.
func (id *identifier) move(to *eventChannel, alone bool) {
	id.mu.Lock()
	defer id.mu.Unlock()
	old, own := id.channel, id.alone
	id.engine.Move(to.engine)
	id.channel, id.alone = to, alone
	at[ibv.CMID](id.at).Channel = to.at
	if own && eventChannels.remove(old.at) != nil {
		old.engine.Close()
	}
}

// setOption is rdma_set_option: identifier, level, name, value, its length.
func setOption(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	value, n := c.Args[3], uint32(c.Args[4])
	if uint32(c.Args[1]) != ibv.RDMA_OPTION_ID {
		fail(c, unix.ENOSYS, errUnknownBits)
		return
	}
	switch name := uint32(c.Args[2]); {
	case name == ibv.RDMA_OPTION_ID_TOS && n == 1, name == ibv.RDMA_OPTION_ID_AFONLY && n == 4:
		// Traffic classes change nothing here; an address is of one family.
	case name == ibv.RDMA_OPTION_ID_REUSEADDR && n == 4:
		id.engine.SetReuse(*at[int32](value) != 0)
	case name == ibv.RDMA_OPTION_ID_ACK_TIMEOUT && n == 1:
		id.engine.SetACKTimeout(*at[uint8](value))
	default:
		fail(c, unix.EINVAL, errUnknownBits)
	}
}

// portOf is rdma_get_src_port and rdma_get_dst_port, in the order of the wire.
func portOf(get func(*cm.ID) uint16) func(*cabi.Call) {
	return func(c *cabi.Call) {
		if id := identifiers.get(c.Args[0]); id != nil {
			c.Result = uintptr(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, get(id.engine))))
		}
	}
}

// cmDevices is rdma_get_devices: where their number goes. The array ends with a 0.
func cmDevices(c *cabi.Call) {
	m, err := theCommunication()
	if err != nil {
		fail(c, unix.ENODEV, err)
		return
	}
	list, err := deviceLists.insert(&deviceList{}, func(address uintptr) { *at[uintptr](address) = m.context.at })
	if err != nil {
		fail(c, unix.ENOMEM, err)
		return
	}
	if c.Args[0] != 0 {
		*at[int32](c.Args[0]) = 1
	}
	c.Result = list
}
