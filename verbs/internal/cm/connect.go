package cm

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/internal/unlike"
)

// Connect asks the other side for a connection, or of UD for where datagrams go. ESTABLISHED or CONNECT_RESPONSE
// follows, or REJECTED, UNREACHABLE. Error: EINVAL for a wrong state, or too long private data.
func (id *ID) Connect(p Parameters) error {
	defer id.lock()()
	if id.state != routeResolved {
		return unix.EINVAL
	}
	if id.datagram() {
		return id.askSIDR(p)
	}
	if len(p.Private) > reqPrivate {
		return unix.EINVAL
	}
	m := id.manager
	if err := m.newComm(id); err != nil {
		return err
	}
	id.peer, id.transaction = id.remote.Addr(), uint64(m.wire.Number())<<32|uint64(id.comm)
	id.mine, id.psn = p, unlike.Uint32N(1<<24)
	id.mtu = m.wire.MTU(id.local.Addr(), id.peer)
	id.mine.RetryCount, id.mine.RNRRetryCount = p.RetryCount&7, p.RNRRetryCount&7
	msg := id.message(attrREQ)
	msg.service = serviceID(id.space, id.remote.Port())
	msg.guid, msg.qpn, msg.psn = m.wire.GUID(), p.QPN, id.psn
	msg.responderResources, msg.initiatorDepth = p.ResponderResources, p.InitiatorDepth
	msg.retryCount, msg.rnrRetryCount = id.mine.RetryCount, id.mine.RNRRetryCount
	msg.ackTimeout, msg.mtu, msg.flowControl, msg.srq = id.timeout(), uint8(id.mtu), p.FlowControl, p.SRQ
	msg.from, msg.to, msg.private = id.local, id.remote, p.Private
	id.state = connecting
	id.ask(msg)
	return nil
}

// serviceID is that of a port (annex A11).
func serviceID(space ibv.PortSpace, port uint16) uint64 { return uint64(space)<<16 | uint64(port) }

// defaultTimeout is the local ACK timeout of connections: 4.096 µs * 2^18, a second.
const defaultTimeout = 18

func (id *ID) timeout() uint8 {
	if id.ackTimeout != 0 {
		return id.ackTimeout
	}
	return defaultTimeout
}

// gotREQ makes an identifier for a request. Under mu.
func (m *Manager) gotREQ(local, remote netip.Addr, msg *message) {
	key := peerKey{remote, msg.local}
	if id := m.remote[key]; id != nil {
		id.again() // our answer was lost, or is on its way
		return
	}
	l := m.listener(msg, local)
	if l == nil || l.datagram() || l.backlog == 0 {
		answer := message{attribute: attrREJ, transaction: msg.transaction, remote: msg.local, rejected: rejectedREQ,
			reason: RejectInvalidService}
		if l != nil && !l.datagram() {
			return // its backlog is full: the other side asks again
		}
		m.send(local, remote, &answer)
		return
	}
	id := m.NewID(l.channel, l.space)
	if m.newComm(id) != nil {
		return
	}
	l.backlog--
	id.listener, id.state = l, requested
	id.local, id.remote = netip.AddrPortFrom(local, l.local.Port()), netip.AddrPortFrom(remote, msg.from.Port())
	id.peer, id.peerComm, id.transaction = remote, msg.local, msg.transaction
	id.peerPSN, id.mtu = msg.psn, min(ibv.MTU(msg.mtu), m.wire.MTU(local, remote))
	id.ackTimeout = msg.ackTimeout
	id.theirs = Parameters{Private: msg.private, ResponderResources: msg.initiatorDepth,
		InitiatorDepth: msg.responderResources, FlowControl: msg.flowControl, RetryCount: msg.retryCount,
		RNRRetryCount: msg.rnrRetryCount, SRQ: msg.srq, QPN: msg.qpn}
	// What the other side asks for counts until Accept, since applications ready queue pairs of their own before.
	id.mine, id.mine.Private, id.mine.QPN = id.theirs, nil, 0
	id.psn = 1 + unlike.Uint32N(1<<24-1)
	m.remote[key] = id
	id.tell(Event{Type: ibv.RDMA_CM_EVENT_CONNECT_REQUEST, Listen: l, Connection: id.theirs})
}

// Prepare takes the parameters of Accept, so that QPAttr knows them before the other side does. Error: EINVAL.
func (id *ID) Prepare(p *Parameters) error {
	defer id.lock()()
	if id.datagram() || id.state == responded {
		return nil
	}
	if id.state != requested || len(p.Private) > repPrivate {
		return unix.EINVAL
	}
	id.prepare(p)
	return nil
}

// prepare keeps the parameters of an answer. Under mu.
func (id *ID) prepare(p *Parameters) {
	retry := id.theirs.RetryCount
	id.mine = *p
	id.mine.RetryCount, id.mine.RNRRetryCount = retry, p.RNRRetryCount&7
}

// Accept answers a request (with parameters; ESTABLISHED follows), or a response (without).
func (id *ID) Accept(p *Parameters) error {
	defer id.lock()()
	if id.datagram() {
		return id.acceptSIDR(p)
	}
	if id.state == responded {
		id.establish()
		return nil
	}
	if id.state != requested {
		return unix.EINVAL
	}
	if p == nil {
		p = &Parameters{ResponderResources: id.theirs.ResponderResources, InitiatorDepth: id.theirs.InitiatorDepth,
			RNRRetryCount: id.theirs.RNRRetryCount}
	}
	if len(p.Private) > repPrivate {
		return unix.EINVAL
	}
	id.prepare(p)
	msg := id.message(attrREP)
	msg.guid, msg.qpn, msg.psn = id.manager.wire.GUID(), p.QPN, id.psn
	msg.responderResources, msg.initiatorDepth = p.ResponderResources, p.InitiatorDepth
	msg.rnrRetryCount, msg.flowControl, msg.srq, msg.private = id.mine.RNRRetryCount, p.FlowControl, p.SRQ, p.Private
	id.release()
	id.state = accepting
	id.ask(msg)
	return nil
}

// Reject answers a request or a response by no. Errors: EINVAL.
func (id *ID) Reject(private []byte) error {
	defer id.lock()()
	if id.datagram() {
		if id.state != requested || len(private) > sidrRepPrivate {
			return unix.EINVAL
		}
		id.answerSIDR(&Parameters{Private: private}, sidrRejected)
		id.state = disconnected
		return nil
	}
	if len(private) > rejPrivate {
		return unix.EINVAL
	}
	switch id.state {
	case requested:
		id.reject(rejectedREQ, RejectConsumer, private)
	case responded:
		id.reject(rejectedREP, RejectConsumer, private)
	default:
		return unix.EINVAL
	}
	id.release()
	id.state = disconnected
	return nil
}

// reject sends a REJ. Under mu.
func (id *ID) reject(what uint8, reason uint16, private []byte) {
	msg := id.message(attrREJ)
	msg.rejected, msg.reason, msg.private = what, reason, private
	id.manager.send(id.local.Addr(), id.peer, &msg)
}

// gotREP is the other side's yes. Under mu.
func (id *ID) gotREP(msg *message) {
	switch id.state {
	case connecting:
	case connected: // our RTU was lost
		id.confirm()
		return
	default:
		return
	}
	id.answered()
	id.peerComm, id.peerPSN = msg.local, msg.psn
	id.theirs = Parameters{Private: msg.private, ResponderResources: msg.initiatorDepth,
		InitiatorDepth: msg.responderResources, FlowControl: msg.flowControl, RNRRetryCount: msg.rnrRetryCount,
		SRQ: msg.srq, QPN: msg.qpn}
	id.mine.RNRRetryCount = msg.rnrRetryCount
	id.state = responded
	id.tell(Event{Type: ibv.RDMA_CM_EVENT_CONNECT_RESPONSE, Connection: id.theirs})
}

// establish answers a response by yes. Under mu.
func (id *ID) establish() {
	id.state = connected
	id.confirm()
}

// confirm sends an RTU. Under mu.
func (id *ID) confirm() {
	msg := id.message(attrRTU)
	id.manager.send(id.local.Addr(), id.peer, &msg)
}

// gotRTU is the end of a handshake. Under mu.
func (id *ID) gotRTU(msg *message) {
	if id.state != accepting {
		return
	}
	id.answered()
	id.state = connected
	id.tell(Event{Type: ibv.RDMA_CM_EVENT_ESTABLISHED, Connection: Parameters{Private: msg.private}})
}

// Established says that data has come before the RTU did (RDMA_CM_EVENT_ESTABLISHED by rdma_notify).
func (id *ID) Established() error {
	defer id.lock()()
	switch id.state {
	case accepting:
		id.answered()
		id.state = connected
		id.tell(Event{Type: ibv.RDMA_CM_EVENT_ESTABLISHED})
		return nil
	case connected:
		return nil
	}
	return unix.EINVAL
}

// gotREJ is the other side's no. Under mu.
func (id *ID) gotREJ(msg *message) {
	switch id.state {
	case connecting, responded, accepting, requested:
	default:
		return
	}
	if id.state == connecting && msg.reason == RejectInvalidService {
		id.refused()
		return
	}
	id.answered()
	// A request that is taken back keeps its place in the backlog until the application has destroyed it: else requests
	// that come and go would fill the channel.
	id.state = disconnected
	id.tell(Event{Type: ibv.RDMA_CM_EVENT_REJECTED, Status: int(msg.reason), Connection: Parameters{Private: msg.private}})
}

// Disconnect ends a connection; DISCONNECTED follows on both sides. Error: EINVAL.
func (id *ID) Disconnect() error {
	defer id.lock()()
	switch id.state {
	case connected, accepting:
	case disconnecting, disconnected:
		return nil
	default:
		return unix.EINVAL
	}
	if id.datagram() {
		return unix.EINVAL
	}
	msg := id.message(attrDREQ)
	msg.qpn = id.theirs.QPN
	id.state = disconnecting
	id.ask(msg)
	return nil
}

// gotDREQ is that the other side ends the connection. Under mu.
func (id *ID) gotDREQ(msg *message) {
	answer := id.message(attrDREP)
	answer.transaction = msg.transaction
	id.manager.send(id.local.Addr(), id.peer, &answer)
	switch id.state {
	case connected, accepting, disconnecting:
		id.end()
	}
}

// gotDREP is the answer to a DREQ. Under mu.
func (id *ID) gotDREP(*message) {
	if id.state == disconnecting {
		id.end()
	}
}

// end tells the application of the end of a connection. Under mu.
func (id *ID) end() {
	id.answered()
	id.state = disconnected
	id.tell(Event{Type: ibv.RDMA_CM_EVENT_DISCONNECTED})
	id.timer = time.AfterFunc(timeWait, func() {
		defer id.lock()()
		id.tell(Event{Type: ibv.RDMA_CM_EVENT_TIMEWAIT_EXIT})
	})
}

// timeWait is how long packets of a connection may still be on their way (section 12.9.8.4).
const timeWait = time.Second

// QPAttr fills in what a queue pair needs for a state, INIT, RTR or RTS, and says which members that are. Error:
// EINVAL.
func (id *ID) QPAttr(to ibv.QPState, a *ibv.QPAttr) (ibv.QPAttrMask, error) {
	defer id.lock()()
	index, ok := id.manager.wire.GIDIndex(id.local.Addr())
	if !ok {
		return 0, unix.EADDRNOTAVAIL
	}
	a.QPState = to
	switch {
	case to == ibv.QPS_INIT:
		a.PKeyIndex, a.PortNum = 0, 1
		if id.datagram() {
			a.QKey = UDPQKey
			return ibv.QP_STATE | ibv.QP_PKEY_INDEX | ibv.QP_PORT | ibv.QP_QKEY, nil
		}
		a.QPAccessFlags = ibv.ACCESS_REMOTE_WRITE | ibv.ACCESS_REMOTE_READ | ibv.ACCESS_REMOTE_ATOMIC
		return ibv.QP_STATE | ibv.QP_PKEY_INDEX | ibv.QP_PORT | ibv.QP_ACCESS_FLAGS, nil
	case id.datagram() && to == ibv.QPS_RTR:
		return ibv.QP_STATE, nil
	case id.datagram() && to == ibv.QPS_RTS:
		a.SQPSN = 0
		return ibv.QP_STATE | ibv.QP_SQ_PSN, nil
	case to == ibv.QPS_RTR:
		a.AHAttr = addressHandle(id.peer, index)
		a.PathMTU, a.DestQPNum, a.RQPSN = id.mtu, id.theirs.QPN, id.psn
		a.MaxDestRDAtomic, a.MinRNRTimer = id.mine.ResponderResources, 0
		return ibv.QP_STATE | ibv.QP_AV | ibv.QP_PATH_MTU | ibv.QP_DEST_QPN | ibv.QP_RQ_PSN |
			ibv.QP_MAX_DEST_RD_ATOMIC | ibv.QP_MIN_RNR_TIMER, nil
	case to == ibv.QPS_RTS:
		a.SQPSN, a.Timeout, a.RetryCnt = id.peerPSN, id.timeout(), id.mine.RetryCount
		a.RNRRetry, a.MaxRDAtomic = id.mine.RNRRetryCount, id.mine.InitiatorDepth
		return ibv.QP_STATE | ibv.QP_SQ_PSN | ibv.QP_TIMEOUT | ibv.QP_RETRY_CNT | ibv.QP_RNR_RETRY |
			ibv.QP_MAX_QP_RD_ATOMIC, nil
	}
	return 0, unix.EINVAL
}

// addressHandle is the way to an address, as verbs have it.
func addressHandle(to netip.Addr, index int) (a ibv.AHAttr) {
	a.IsGlobal, a.PortNum = 1, 1
	a.GRH = ibv.GlobalRoute{DGID: to.As16(), SGIDIndex: uint8(index), HopLimit: 64}
	return a
}
