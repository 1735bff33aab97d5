package cm

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
)

// UDPQKey is the Q_Key of RDMA_PS_UDP (RDMA_UDP_QKEY).
const UDPQKey = 0x01234567

// The status of a SIDR_REP (table 121).
const (
	sidrValid       = 0
	sidrUnsupported = 1
	sidrRejected    = 2
)

// askSIDR asks the other side where datagrams go. Under mu.
func (id *ID) askSIDR(p Parameters) error {
	if len(p.Private) > sidrReqPrivate {
		return unix.EINVAL
	}
	if err := id.manager.newComm(id); err != nil {
		return err
	}
	id.peer, id.transaction = id.remote.Addr(), uint64(id.manager.wire.Number())<<32|uint64(id.comm)
	msg := id.message(attrSIDRREQ)
	msg.service = serviceID(id.space, id.remote.Port())
	msg.from, msg.to, msg.private = id.local, id.remote, p.Private
	id.state = connecting
	id.ask(msg)
	return nil
}

// gotSIDRREQ makes an identifier for a request. Under mu.
func (m *Manager) gotSIDRREQ(local, remote netip.Addr, msg *message) {
	key := peerKey{remote, msg.local}
	if id := m.remote[key]; id != nil {
		id.again()
		return
	}
	l := m.listener(msg, local)
	if l == nil || !l.datagram() {
		answer := message{attribute: attrSIDRREP, transaction: msg.transaction, local: msg.local, remote: msg.local,
			status: sidrUnsupported, service: msg.service}
		m.send(local, remote, &answer)
		return
	}
	if l.backlog == 0 {
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
	id.theirs = Parameters{Private: msg.private}
	m.remote[key] = id
	index, _ := m.wire.GIDIndex(local)
	id.tell(Event{Type: ibv.RDMA_CM_EVENT_CONNECT_REQUEST, Listen: l, Connection: id.theirs,
		Address: addressHandle(remote, index)})
}

// acceptSIDR says where datagrams go. No event follows, as nothing is connected. Under mu.
func (id *ID) acceptSIDR(p *Parameters) error {
	if id.state != requested || p == nil || len(p.Private) > sidrRepPrivate {
		return unix.EINVAL
	}
	id.mine = *p
	id.answerSIDR(p, sidrValid)
	id.state = connected
	return nil
}

// answerSIDR sends a SIDR_REP, and keeps it for a request that comes again. Under mu.
func (id *ID) answerSIDR(p *Parameters, status uint8) {
	id.release()
	id.pending = message{attribute: attrSIDRREP, transaction: id.transaction, local: id.peerComm, remote: id.peerComm,
		status: status, qpn: p.QPN, qkey: UDPQKey, private: p.Private}
	id.manager.send(id.local.Addr(), id.peer, &id.pending)
}

// gotSIDRREP is the answer to askSIDR. Under mu.
func (id *ID) gotSIDRREP(msg *message) {
	if id.state != connecting {
		return
	}
	if msg.status == sidrUnsupported {
		id.refused()
		return
	}
	id.answered()
	if msg.status != sidrValid {
		id.state = disconnected
		id.tell(Event{Type: ibv.RDMA_CM_EVENT_UNREACHABLE, Status: int(msg.status),
			Connection: Parameters{Private: msg.private}})
		return
	}
	id.state = connected
	id.theirs = Parameters{Private: msg.private, QPN: msg.qpn}
	index, _ := id.manager.wire.GIDIndex(id.local.Addr())
	id.tell(Event{Type: ibv.RDMA_CM_EVENT_ESTABLISHED, Connection: id.theirs, Address: addressHandle(id.peer, index),
		QKey: msg.qkey})
}
