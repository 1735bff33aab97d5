package cm

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// madSize is the size of a MAD, madHeader that of its header, bytes.
const (
	madSize   = 256
	madHeader = 24
)

// Attribute identifiers of the messages (table 93).
const (
	attrREQ     = 0x10
	attrMRA     = 0x11
	attrREJ     = 0x12
	attrREP     = 0x13
	attrRTU     = 0x14
	attrDREQ    = 0x15
	attrDREP    = 0x16
	attrSIDRREQ = 0x17
	attrSIDRREP = 0x18
)

// The most private data of each message, bytes; of REQ and SIDR_REQ, what annex A11 leaves to the application.
const (
	ipHeader       = 36
	reqPrivate     = 92 - ipHeader
	repPrivate     = 196
	rtuPrivate     = 224
	rejPrivate     = 148
	dreqPrivate    = 220
	drepPrivate    = 224
	sidrReqPrivate = 216 - ipHeader
	sidrRepPrivate = 136
)

// Reasons of REJ (table 108).
const (
	RejectTimeout                = 4
	RejectInvalidService         = 8
	RejectStaleConnection        = 10
	RejectConsumer               = 28
	rejectedREQ                  = 0 // which message is rejected
	rejectedREP                  = 1
	rejectedNone                 = 2
	serviceIDPrefix       uint64 = 1 << 24
)

// message is a MAD taken apart. Each kind uses some of the fields.
type message struct {
	attribute   uint16
	transaction uint64
	local       uint32 // communication id of the sender, or request id of SIDR
	remote      uint32 // that of the receiver

	service            uint64
	guid               uint64
	qkey, qpn, psn     uint32
	responderResources uint8
	initiatorDepth     uint8
	retryCount         uint8
	rnrRetryCount      uint8
	ackTimeout         uint8
	mtu                uint8
	transport          uint8 // 0 RC, 1 UC
	flowControl        bool
	srq                bool
	from, to           netip.AddrPort // of annex A11's header; to.Port is in the service id

	rejected uint8  // message that a REJ is about
	reason   uint16 // of a REJ
	status   uint8  // of a SIDR_REP: 0 valid, 1 unsupported service, 2 rejected
	private  []byte
}

var errMalformed = errors.New("cm: malformed message")

func put24(b []byte, v uint32, low byte) { binary.BigEndian.PutUint32(b, v<<8|uint32(low)) }
func get24(b []byte) uint32              { return binary.BigEndian.Uint32(b) >> 8 }

func flag(set bool, value byte) byte {
	if set {
		return value
	}
	return 0
}

// encode makes a MAD.
func (m *message) encode() []byte {
	b := make([]byte, madSize)
	b[0], b[1], b[2], b[3] = 1, 7, 2, 3 // base version, class CM, class version, method Send
	binary.BigEndian.PutUint64(b[8:], m.transaction)
	binary.BigEndian.PutUint16(b[16:], m.attribute)
	d := b[madHeader:]
	binary.BigEndian.PutUint32(d, m.local)
	if m.attribute != attrREQ && m.attribute != attrSIDRREQ && m.attribute != attrSIDRREP {
		binary.BigEndian.PutUint32(d[4:], m.remote)
	}
	switch m.attribute {
	case attrREQ:
		m.encodeREQ(d)
	case attrREP:
		binary.BigEndian.PutUint32(d[8:], m.qkey)
		put24(d[12:], m.qpn, 0)
		put24(d[20:], m.psn, 0)
		d[24], d[25] = m.responderResources, m.initiatorDepth
		d[26] = 15<<3 | flag(m.flowControl, 1) // target ACK delay
		d[27] = m.rnrRetryCount<<5 | flag(m.srq, 0x10)
		binary.BigEndian.PutUint64(d[28:], m.guid)
		copy(d[36:], m.private)
	case attrRTU, attrDREP:
		copy(d[8:], m.private)
	case attrREJ:
		d[8] = m.rejected << 6
		binary.BigEndian.PutUint16(d[10:], m.reason)
		copy(d[84:], m.private)
	case attrDREQ:
		put24(d[8:], m.qpn, 0)
		copy(d[12:], m.private)
	case attrSIDRREQ:
		binary.BigEndian.PutUint16(d[4:], 0xffff)
		binary.BigEndian.PutUint64(d[8:], m.service)
		m.putIP(d[16:])
		copy(d[16+ipHeader:], m.private)
	case attrSIDRREP:
		d[4] = m.status
		put24(d[8:], m.qpn, 0)
		binary.BigEndian.PutUint64(d[12:], m.service)
		binary.BigEndian.PutUint32(d[20:], m.qkey)
		copy(d[96:], m.private)
	}
	return b
}

// encodeREQ writes what only a REQ has (section 12.6.5).
func (m *message) encodeREQ(d []byte) {
	const timeout = 20 // 4.096 µs * 2^20: how long either side's CM may take
	binary.BigEndian.PutUint64(d[8:], m.service)
	binary.BigEndian.PutUint64(d[16:], m.guid)
	binary.BigEndian.PutUint32(d[28:], m.qkey)
	put24(d[32:], m.qpn, m.responderResources)
	put24(d[36:], 0, m.initiatorDepth)
	put24(d[40:], 0, timeout<<3|m.transport<<1|flag(m.flowControl, 1))
	put24(d[44:], m.psn, timeout<<3|m.retryCount)
	binary.BigEndian.PutUint16(d[48:], 0xffff)
	d[50] = m.mtu<<4 | m.rnrRetryCount
	d[51] = maxRetries<<4 | flag(m.srq, 8)
	binary.BigEndian.PutUint16(d[52:], 0xffff) // permissive LIDs
	binary.BigEndian.PutUint16(d[54:], 0xffff)
	local, remote := m.from.Addr().As16(), m.to.Addr().As16()
	copy(d[56:], local[:])
	copy(d[72:], remote[:])
	d[91] = 2  // packet rate
	d[93] = 64 // hop limit
	d[95] = m.ackTimeout << 3
	m.putIP(d[140:])
	copy(d[140+ipHeader:], m.private)
}

// putIP writes the header of annex A11.
func (m *message) putIP(b []byte) {
	version := byte(0x60)
	if m.from.Addr().Is4() {
		version = 0x40
	}
	b[0], b[1] = 0, version
	binary.BigEndian.PutUint16(b[2:], m.from.Port())
	putAddress(b[4:20], m.from.Addr())
	putAddress(b[20:36], m.to.Addr())
}

// putAddress writes an address in its 16 bytes: an IPv4 one behind zeros.
func putAddress(b []byte, a netip.Addr) {
	if a.Is4() {
		four := a.As4()
		copy(b[12:], four[:])
		return
	}
	six := a.As16()
	copy(b, six[:])
}

// getIP reads the header of annex A11. The port that is asked for is the service id's.
func (m *message) getIP(b []byte) error {
	var from, to netip.Addr
	switch b[1] >> 4 {
	case 4:
		from, to = netip.AddrFrom4([4]byte(b[16:20])), netip.AddrFrom4([4]byte(b[32:36]))
	case 6:
		from, to = netip.AddrFrom16([16]byte(b[4:20])), netip.AddrFrom16([16]byte(b[20:36]))
	default:
		return errMalformed
	}
	m.from = netip.AddrPortFrom(from, binary.BigEndian.Uint16(b[2:]))
	m.to = netip.AddrPortFrom(to, uint16(m.service))
	return nil
}

// decode takes a MAD apart. Private data are copied.
func decode(b []byte) (m message, err error) {
	if len(b) < madSize || b[0] != 1 || b[1] != 7 || b[3]&0x7f != 3 {
		return m, errMalformed
	}
	m.transaction = binary.BigEndian.Uint64(b[8:])
	m.attribute = binary.BigEndian.Uint16(b[16:])
	d := append([]byte(nil), b[madHeader:madSize]...)
	m.local = binary.BigEndian.Uint32(d)
	m.remote = binary.BigEndian.Uint32(d[4:])
	switch m.attribute {
	case attrREQ:
		return m, m.decodeREQ(d)
	case attrREP:
		m.qkey, m.qpn, m.psn = binary.BigEndian.Uint32(d[8:]), get24(d[12:]), get24(d[20:])
		m.responderResources, m.initiatorDepth = d[24], d[25]
		m.flowControl, m.rnrRetryCount, m.srq = d[26]&1 != 0, d[27]>>5, d[27]&0x10 != 0
		m.guid, m.private = binary.BigEndian.Uint64(d[28:]), d[36:]
	case attrRTU, attrDREP:
		m.private = d[8:]
	case attrMRA:
		m.private = d[10:]
	case attrREJ:
		m.rejected, m.reason, m.private = d[8]>>6, binary.BigEndian.Uint16(d[10:]), d[84:]
	case attrDREQ:
		m.qpn, m.private = get24(d[8:]), d[12:]
	case attrSIDRREQ:
		m.service, m.remote = binary.BigEndian.Uint64(d[8:]), 0
		m.private = d[16+ipHeader:]
		return m, m.getIP(d[16:])
	case attrSIDRREP:
		m.status, m.qpn, m.service = d[4], get24(d[8:]), binary.BigEndian.Uint64(d[12:])
		m.qkey, m.private = binary.BigEndian.Uint32(d[20:]), d[96:]
		m.remote = m.local // the request's id names its asker
	default:
		return m, errMalformed
	}
	return m, nil
}

// decodeREQ reads what only a REQ has.
func (m *message) decodeREQ(d []byte) error {
	m.remote = 0
	m.service, m.guid = binary.BigEndian.Uint64(d[8:]), binary.BigEndian.Uint64(d[16:])
	m.qkey, m.qpn, m.responderResources = binary.BigEndian.Uint32(d[28:]), get24(d[32:]), d[35]
	m.initiatorDepth = d[39]
	m.transport, m.flowControl = d[43]>>1&3, d[43]&1 != 0
	m.psn, m.retryCount = get24(d[44:]), d[47]&7
	m.mtu, m.rnrRetryCount, m.srq = d[50]>>4, d[50]&7, d[51]&8 != 0
	m.ackTimeout = d[95] >> 3
	m.private = d[140+ipHeader:]
	return m.getIP(d[140:])
}

// Route says where a MAD that has come from another host belongs: to the process that serves a port (REQ, SIDR_REQ), or
// to the one that has a communication id. ok is false for what is no message of this package.
func Route(mad []byte) (id uint32, space, port uint16, ok bool) {
	if len(mad) < madSize || mad[0] != 1 || mad[1] != 7 {
		return 0, 0, 0, false
	}
	d := mad[madHeader:]
	switch binary.BigEndian.Uint16(mad[16:]) {
	case attrREQ, attrSIDRREQ:
		service := binary.BigEndian.Uint64(d[8:])
		return 0, uint16(service >> 16), uint16(service), service>>24 == 1
	case attrSIDRREP:
		return binary.BigEndian.Uint32(d), 0, 0, true
	case attrMRA, attrREJ, attrREP, attrRTU, attrDREQ, attrDREP:
		return binary.BigEndian.Uint32(d[4:]), 0, 0, true
	}
	return 0, 0, 0, false
}
