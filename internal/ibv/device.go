package ibv

import "structs"

// GIDEntry is struct ibv_gid_entry.
type GIDEntry struct {
	_           structs.HostLayout
	GID         GID
	GIDIndex    uint32
	PortNum     uint32
	GIDType     uint32
	NDevIfIndex uint32
}

// Context is struct ibv_context.
type Context struct {
	_              structs.HostLayout
	Device         uintptr
	Ops            ContextOps
	CMDFD          int32
	AsyncFD        int32
	NumCompVectors int32
	_              [4]byte
	Mutex          PthreadMutex
	ABICompat      uintptr
}

// DeviceAttr is struct ibv_device_attr.
type DeviceAttr struct {
	_                     structs.HostLayout
	FWVer                 [64]byte
	NodeGUID              uint64
	SysImageGUID          uint64
	MaxMRSize             uint64
	PageSizeCap           uint64
	VendorID              uint32
	VendorPartID          uint32
	HWVer                 uint32
	MaxQP                 int32
	MaxQPWR               int32
	DeviceCapFlags        DeviceCapFlags
	MaxSGE                int32
	MaxSGERD              int32
	MaxCQ                 int32
	MaxCQE                int32
	MaxMR                 int32
	MaxPD                 int32
	MaxQPRDAtom           int32
	MaxEERDAtom           int32
	MaxResRDAtom          int32
	MaxQPInitRDAtom       int32
	MaxEEInitRDAtom       int32
	AtomicCap             AtomicCap
	MaxEE                 int32
	MaxRDD                int32
	MaxMW                 int32
	MaxRawIPv6QP          int32
	MaxRawEthyQP          int32
	MaxMcastGrp           int32
	MaxMcastQPAttach      int32
	MaxTotalMcastQPAttach int32
	MaxAH                 int32
	MaxFMR                int32
	MaxMapPerFMR          int32
	MaxSRQ                int32
	MaxSRQWR              int32
	MaxSRQSGE             int32
	MaxPKeys              uint16
	LocalCAAckDelay       uint8
	PhysPortCnt           uint8
	_                     [4]byte
}

// QueryDeviceExInput is struct ibv_query_device_ex_input.
type QueryDeviceExInput struct {
	_        structs.HostLayout
	CompMask uint32
}

// ODPCaps is struct ibv_odp_caps.
type ODPCaps struct {
	_                structs.HostLayout
	GeneralCaps      uint64
	PerTransportCaps [3]uint32 // RC, UC, UD
	_                [4]byte
}

// TSOCaps is struct ibv_tso_caps.
type TSOCaps struct {
	_             structs.HostLayout
	MaxTSO        uint32
	SupportedQPTs uint32
}

// RSSCaps is struct ibv_rss_caps.
type RSSCaps struct {
	_                          structs.HostLayout
	SupportedQPTs              uint32
	MaxRWQIndirectionTables    uint32
	MaxRWQIndirectionTableSize uint32
	_                          [4]byte
	RXHashFieldsMask           uint64
	RXHashFunction             uint8
	_                          [7]byte
}

// PacketPacingCaps is struct ibv_packet_pacing_caps.
type PacketPacingCaps struct {
	_              structs.HostLayout
	QPRateLimitMin uint32
	QPRateLimitMax uint32
	SupportedQPTs  uint32
}

// TMCaps is struct ibv_tm_caps.
type TMCaps struct {
	_              structs.HostLayout
	MaxRndvHdrSize uint32
	MaxNumTags     uint32
	Flags          uint32
	MaxOps         uint32
	MaxSGE         uint32
}

// CQModerationCaps is struct ibv_cq_moderation_caps.
type CQModerationCaps struct {
	_           structs.HostLayout
	MaxCQCount  uint16
	MaxCQPeriod uint16
}

// PCIAtomicCaps is struct ibv_pci_atomic_caps.
type PCIAtomicCaps struct {
	_           structs.HostLayout
	FetchAdd    uint16
	Swap        uint16
	CompareSwap uint16
}

// DeviceAttrEx is struct ibv_device_attr_ex.
type DeviceAttrEx struct {
	_                       structs.HostLayout
	OrigAttr                DeviceAttr
	CompMask                uint32
	_                       [4]byte
	ODPCaps                 ODPCaps
	CompletionTimestampMask uint64
	HCACoreClock            uint64
	DeviceCapFlagsEx        uint64
	TSOCaps                 TSOCaps
	RSSCaps                 RSSCaps
	MaxWQTypeRQ             uint32
	PacketPacingCaps        PacketPacingCaps
	RawPacketCaps           uint32
	TMCaps                  TMCaps
	CQModCaps               CQModerationCaps
	_                       [4]byte
	MaxDMSize               uint64
	PCIAtomicCaps           PCIAtomicCaps
	_                       [2]byte
	XRCODPCaps              uint32
	PhysPortCntEx           uint32
}

// PortAttr is struct ibv_port_attr.
type PortAttr struct {
	_             structs.HostLayout
	State         PortState
	MaxMTU        MTU
	ActiveMTU     MTU
	GIDTblLen     int32
	PortCapFlags  PortCapFlags
	MaxMsgSz      uint32
	BadPKeyCntr   uint32
	QKeyViolCntr  uint32
	PKeyTblLen    uint16
	LID           uint16
	SMLID         uint16
	LMC           uint8
	MaxVLNum      uint8
	SMSL          uint8
	SubnetTimeout uint8
	InitTypeReply uint8
	ActiveWidth   uint8
	ActiveSpeed   uint8
	PhysState     uint8
	LinkLayer     uint8
	Flags         uint8
	PortCapFlags2 uint16
	_             [2]byte
}

// AsyncEvent is struct ibv_async_event.
type AsyncEvent struct {
	_         structs.HostLayout
	Element   uint64 // a union: cq, qp, srq, wq, port_num
	EventType EventType
	_         [4]byte
}

// GlobalRoute is struct ibv_global_route.
type GlobalRoute struct {
	_            structs.HostLayout
	DGID         GID
	FlowLabel    uint32
	SGIDIndex    uint8
	HopLimit     uint8
	TrafficClass uint8
	_            [1]byte
}

// GRH is struct ibv_grh.
type GRH struct {
	_                 structs.HostLayout
	VersionTclassFlow uint32
	Paylen            uint16
	NextHdr           uint8
	HopLimit          uint8
	SGID              GID
	DGID              GID
}

// AHAttr is struct ibv_ah_attr.
type AHAttr struct {
	_           structs.HostLayout
	GRH         GlobalRoute
	DLID        uint16
	SL          uint8
	SrcPathBits uint8
	StaticRate  uint8
	IsGlobal    uint8
	PortNum     uint8
	_           [1]byte
}

// Device is struct ibv_device.
type Device struct {
	_             structs.HostLayout
	Ops           [2]uintptr
	NodeType      NodeType
	TransportType TransportType
	Name          [64]byte
	DevName       [64]byte
	DevPath       [256]byte
	IBDevPath     [256]byte
}

// ContextOps is struct ibv_context_ops.
type ContextOps struct {
	_                 structs.HostLayout
	CompatQueryDevice uintptr
	CompatQueryPort   uintptr
	CompatAllocPD     uintptr
	CompatDeallocPD   uintptr
	CompatRegMR       uintptr
	CompatReregMR     uintptr
	CompatDeregMR     uintptr
	AllocMW           uintptr
	BindMW            uintptr
	DeallocMW         uintptr
	CompatCreateCQ    uintptr
	PollCQ            uintptr
	ReqNotifyCQ       uintptr
	CompatCQEvent     uintptr
	CompatResizeCQ    uintptr
	CompatDestroyCQ   uintptr
	CompatCreateSRQ   uintptr
	CompatModifySRQ   uintptr
	CompatQuerySRQ    uintptr
	CompatDestroySRQ  uintptr
	PostSRQRecv       uintptr
	CompatCreateQP    uintptr
	CompatQueryQP     uintptr
	CompatModifyQP    uintptr
	CompatDestroyQP   uintptr
	PostSend          uintptr
	PostRecv          uintptr
	CompatCreateAH    uintptr
	CompatDestroyAH   uintptr
	CompatAttachMcast uintptr
	CompatDetachMcast uintptr
	CompatAsyncEvent  uintptr
}

// ValuesEx is struct ibv_values_ex.
type ValuesEx struct {
	_        structs.HostLayout
	CompMask uint32
	_        [4]byte
	RawClock [2]int64 // seconds, nanoseconds
}

// VerbsContext is struct verbs_context.
type VerbsContext struct {
	_                       structs.HostLayout
	QueryPort               uintptr
	AdviseMR                uintptr
	AllocNullMR             uintptr
	ReadCounters            uintptr
	AttachCountersPointFlow uintptr
	CreateCounters          uintptr
	DestroyCounters         uintptr
	RegDMMR                 uintptr
	AllocDM                 uintptr
	FreeDM                  uintptr
	ModifyFlowActionESP     uintptr
	DestroyFlowAction       uintptr
	CreateFlowActionESP     uintptr
	ModifyQPRateLimit       uintptr
	AllocParentDomain       uintptr
	DeallocTD               uintptr
	AllocTD                 uintptr
	ModifyCQ                uintptr
	PostSRQOps              uintptr
	DestroyRWQIndTable      uintptr
	CreateRWQIndTable       uintptr
	DestroyWQ               uintptr
	ModifyWQ                uintptr
	CreateWQ                uintptr
	QueryRTValues           uintptr
	CreateCQEx              uintptr
	Priv                    uintptr
	QueryDeviceEx           uintptr
	DestroyFlow             uintptr
	ABIPlaceholder2         uintptr
	CreateFlow              uintptr
	ABIPlaceholder1         uintptr
	OpenQP                  uintptr
	CreateQPEx              uintptr
	GetSRQNum               uintptr
	CreateSRQEx             uintptr
	OpenXRCD                uintptr
	CloseXRCD               uintptr
	ABIPlaceholder3         uint64
	Sz                      uint64
	Context                 Context
}
