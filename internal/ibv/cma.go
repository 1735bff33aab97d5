package ibv

import "structs"

// PathRecord is struct ibv_path_record.
type PathRecord struct {
	_                 structs.HostLayout
	ServiceID         uint64
	DGID              GID
	SGID              GID
	DLID              uint16
	SLID              uint16
	FlowLabelHopLimit uint32
	TClass            uint8
	ReversibleNumPath uint8
	PKey              uint16
	QoSClassSL        uint16
	MTU               uint8
	Rate              uint8
	PacketLifetime    uint8
	Preference        uint8
	Reserved          [6]uint8
}

// PathData is struct ibv_path_data.
type PathData struct {
	_        structs.HostLayout
	Flags    uint32
	Reserved uint32
	Path     PathRecord
}

// IBAddr is struct rdma_ib_addr.
type IBAddr struct {
	_    structs.HostLayout
	SGID GID
	DGID GID
	PKey uint16
	_    [6]byte
}

// Addr is struct rdma_addr.
type Addr struct {
	_       structs.HostLayout
	SrcAddr [16]uint64 // struct sockaddr_storage
	DstAddr [16]uint64 // struct sockaddr_storage
	Addr    IBAddr
}

// Route is struct rdma_route.
type Route struct {
	_        structs.HostLayout
	Addr     Addr
	PathRec  uintptr
	NumPaths int32
	_        [4]byte
}

// EventChannel is struct rdma_event_channel.
type EventChannel struct {
	_  structs.HostLayout
	FD int32
}

// CMID is struct rdma_cm_id.
type CMID struct {
	_             structs.HostLayout
	Verbs         uintptr
	Channel       uintptr
	Context       uintptr
	QP            uintptr
	Route         Route
	PS            PortSpace
	PortNum       uint8
	_             [3]byte
	Event         uintptr
	SendCQChannel uintptr
	SendCQ        uintptr
	RecvCQChannel uintptr
	RecvCQ        uintptr
	SRQ           uintptr
	PD            uintptr
	QPType        QPType
	_             [4]byte
}

// CMEvent is struct rdma_cm_event.
type CMEvent struct {
	_        structs.HostLayout
	ID       uintptr
	ListenID uintptr
	Event    CMEventType
	Status   int32
	Param    CMEventParam // a union: conn, ud
}

// ConnParam is struct rdma_conn_param.
type ConnParam struct {
	_                  structs.HostLayout
	PrivateData        uintptr
	PrivateDataLen     uint8
	ResponderResources uint8
	InitiatorDepth     uint8
	FlowControl        uint8
	RetryCount         uint8
	RNRRetryCount      uint8
	SRQ                uint8
	_                  [1]byte
	QPNum              uint32
	_                  [4]byte
}

// UDParam is struct rdma_ud_param.
type UDParam struct {
	_              structs.HostLayout
	PrivateData    uintptr
	PrivateDataLen uint8
	_              [7]byte
	AHAttr         AHAttr
	QPNum          uint32
	QKey           uint32
}

// Addrinfo is struct rdma_addrinfo.
type Addrinfo struct {
	_              structs.HostLayout
	AIFlags        int32
	AIFamily       int32
	AIQPType       int32
	AIPortSpace    int32
	AISrcLen       uint32
	AIDstLen       uint32
	AISrcAddr      uintptr
	AIDstAddr      uintptr
	AISrcCanonName uintptr
	AIDstCanonName uintptr
	AIRouteLen     uint64
	AIRoute        uintptr
	AIConnectLen   uint64
	AIConnect      uintptr
	AINext         uintptr
}

// CMJoinMCAttrEx is struct rdma_cm_join_mc_attr_ex.
type CMJoinMCAttrEx struct {
	_         structs.HostLayout
	CompMask  uint32
	JoinFlags uint32
	Addr      uintptr
}

// CMEventParam is the union of rdma_cm_event: conn, a ConnParam, or ud, a UDParam.
type CMEventParam [7]uint64
