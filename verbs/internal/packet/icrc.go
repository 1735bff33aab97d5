package packet

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// Envelope is what the invariant CRC covers of the IP and UDP headers around a packet. One thread may use it at a time.
type Envelope struct {
	Source, Destination         netip.Addr // both IPv4 or both IPv6
	SourcePort, DestinationPort uint16
	// ID and Fragment are the identification, and the word of flags and offset, of an IPv4 header. Linux sends ID 0 and
	// DF (0x4000) from an unconnected UDP socket with IP_PMTUDISC_DO.
	ID, Fragment uint16

	pseudo [8 + ipv6Header + udpHeader + BTHSize]byte // where ICRC works, so that it doesn't allocate
}

// DontFragment is the flag DF in Envelope.Fragment.
const DontFragment = 0x4000

const (
	udpHeader  = 8
	ipv4Header = 20
	ipv6Header = 40
	udpNumber  = 17
)

// ICRC computes the invariant CRC of a packet: header, and payload with padding. The fields that routers change count
// as ones (annex A17.3, section 7.8.1). The result goes behind the padding in little-endian order.
func ICRC(e *Envelope, header []byte, data ...[]byte) uint32 {
	length := udpHeader + len(header) + ICRCSize
	for _, d := range data {
		length += len(d)
	}
	b := e.pseudo[:0]
	for range 8 {
		b = append(b, 0xff) // where InfiniBand has a local route header
	}
	if e.Source.Is4() {
		source, destination := e.Source.As4(), e.Destination.As4()
		b = append(b, 0x45, 0xff) // type of service
		b = binary.BigEndian.AppendUint16(b, uint16(ipv4Header+length))
		b = binary.BigEndian.AppendUint16(b, e.ID)
		b = binary.BigEndian.AppendUint16(b, e.Fragment)
		b = append(b, 0xff, udpNumber, 0xff, 0xff) // time to live, checksum
		b = append(append(b, source[:]...), destination[:]...)
	} else {
		source, destination := e.Source.As16(), e.Destination.As16()
		b = append(b, 0x6f, 0xff, 0xff, 0xff) // traffic class, flow label
		b = binary.BigEndian.AppendUint16(b, uint16(length))
		b = append(b, udpNumber, 0xff) // hop limit
		b = append(append(b, source[:]...), destination[:]...)
	}
	b = binary.BigEndian.AppendUint16(b, e.SourcePort)
	b = binary.BigEndian.AppendUint16(b, e.DestinationPort)
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	b = append(b, 0xff, 0xff) // checksum
	b = append(b, header[:BTHSize]...)
	b[len(b)-BTHSize+4] = 0xff // FECN, BECN and reserved bits
	crc := crc32.Update(0, crc32.IEEETable, b)
	crc = crc32.Update(crc, crc32.IEEETable, header[BTHSize:])
	for _, d := range data {
		crc = crc32.Update(crc, crc32.IEEETable, d)
	}
	return crc
}
