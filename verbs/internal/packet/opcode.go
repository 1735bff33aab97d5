package packet

import "fmt"

// Opcode is the first byte of a packet: the transport in its upper three bits, the operation in the others
// (InfiniBand Architecture Specification, volume 1, section 9.2.1).
type Opcode uint8

// The transports.
const (
	RC  Opcode = 0 << 5
	UC  Opcode = 1 << 5
	UD  Opcode = 3 << 5
	XRC Opcode = 5 << 5
	CNP Opcode = 4 << 5 // congestion notification: 0x81 alone
)

// The operations. UC has those up to WriteOnlyImm, UD has SendOnly and SendOnlyImm.
const (
	SendFirst          Opcode = 0x00
	SendMiddle         Opcode = 0x01
	SendLast           Opcode = 0x02
	SendLastImm        Opcode = 0x03
	SendOnly           Opcode = 0x04
	SendOnlyImm        Opcode = 0x05
	WriteFirst         Opcode = 0x06
	WriteMiddle        Opcode = 0x07
	WriteLast          Opcode = 0x08
	WriteLastImm       Opcode = 0x09
	WriteOnly          Opcode = 0x0a
	WriteOnlyImm       Opcode = 0x0b
	ReadRequest        Opcode = 0x0c
	ReadResponseFirst  Opcode = 0x0d
	ReadResponseMiddle Opcode = 0x0e
	ReadResponseLast   Opcode = 0x0f
	ReadResponseOnly   Opcode = 0x10
	Acknowledge        Opcode = 0x11
	AtomicAcknowledge  Opcode = 0x12
	CompareSwap        Opcode = 0x13
	FetchAdd           Opcode = 0x14
	SendLastInv        Opcode = 0x16
	SendOnlyInv        Opcode = 0x17
)

// Transport is the opcode's transport.
func (o Opcode) Transport() Opcode { return o &^ 0x1f }

// Operation is the opcode without its transport.
func (o Opcode) Operation() Opcode { return o & 0x1f }

var transportNames = map[Opcode]string{RC: "RC", UC: "UC", UD: "UD", XRC: "XRC"}

var operationNames = [...]string{"SEND First", "SEND Middle", "SEND Last", "SEND Last Imm", "SEND Only",
	"SEND Only Imm", "WRITE First", "WRITE Middle", "WRITE Last", "WRITE Last Imm", "WRITE Only", "WRITE Only Imm",
	"READ Request", "READ Response First", "READ Response Middle", "READ Response Last", "READ Response Only", "ACK",
	"ATOMIC ACK", "CMP_SWAP", "FETCH_ADD", "", "SEND Last Inv", "SEND Only Inv"}

// String is as "RC SEND Only".
func (o Opcode) String() string {
	if partsOf[o]&valid == 0 {
		return fmt.Sprintf("%#02x", uint8(o))
	}
	return transportNames[o.Transport()] + " " + operationNames[o.Operation()]
}

// parts says which extended headers a packet has, and whether it may have a payload.
type parts uint16

const (
	valid parts = 1 << iota
	deth
	xrceth
	reth
	atomicETH
	aeth
	atomicAckETH
	immDt
	ieth
	payload
	response // of the responder: XRC's have no XRCETH
)

// operations are RC's (section 9.2.1, table 38, and for XRC annex A14).
var operations = [32]parts{
	SendFirst: valid | payload, SendMiddle: valid | payload, SendLast: valid | payload,
	SendLastImm: valid | payload | immDt, SendOnly: valid | payload, SendOnlyImm: valid | payload | immDt,
	WriteFirst: valid | payload | reth, WriteMiddle: valid | payload, WriteLast: valid | payload,
	WriteLastImm: valid | payload | immDt, WriteOnly: valid | payload | reth,
	WriteOnlyImm: valid | payload | reth | immDt, ReadRequest: valid | reth,
	ReadResponseFirst: valid | payload | aeth | response, ReadResponseMiddle: valid | payload | response,
	ReadResponseLast: valid | payload | aeth | response, ReadResponseOnly: valid | payload | aeth | response,
	Acknowledge: valid | aeth | response, AtomicAcknowledge: valid | aeth | atomicAckETH | response,
	CompareSwap: valid | atomicETH, FetchAdd: valid | atomicETH,
	SendLastInv: valid | payload | ieth, SendOnlyInv: valid | payload | ieth,
}

// partsOf has every opcode's parts, and 0 for those that don't exist.
var partsOf = func() (all [256]parts) {
	for o, p := range operations {
		if p == 0 {
			continue
		}
		all[RC|Opcode(o)] = p
		if Opcode(o) <= WriteOnlyImm {
			all[UC|Opcode(o)] = p
		}
		if p&response == 0 {
			p |= xrceth
		}
		all[XRC|Opcode(o)] = p
	}
	all[UD|SendOnly] = valid | payload | deth
	all[UD|SendOnlyImm] = valid | payload | deth | immDt
	return all
}()
