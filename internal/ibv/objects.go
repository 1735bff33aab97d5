package ibv

import "structs"

// AllocDMAttr is struct ibv_alloc_dm_attr.
type AllocDMAttr struct {
	_           structs.HostLayout
	Length      uint64
	LogAlignReq uint32
	CompMask    uint32
}

// DM is struct ibv_dm.
type DM struct {
	_            structs.HostLayout
	Context      uintptr
	MemcpyToDM   uintptr
	MemcpyFromDM uintptr
	CompMask     uint32
	Handle       uint32
}

// CQ is struct ibv_cq.
type CQ struct {
	_                    structs.HostLayout
	Context              uintptr
	Channel              uintptr
	CQContext            uintptr
	Handle               uint32
	CQE                  int32
	Mutex                PthreadMutex
	Cond                 PthreadCond
	CompEventsCompleted  uint32
	AsyncEventsCompleted uint32
}

// QP is struct ibv_qp.
type QP struct {
	_               structs.HostLayout
	Context         uintptr
	QPContext       uintptr
	PD              uintptr
	SendCQ          uintptr
	RecvCQ          uintptr
	SRQ             uintptr
	Handle          uint32
	QPNum           uint32
	State           QPState
	QPType          QPType
	Mutex           PthreadMutex
	Cond            PthreadCond
	EventsCompleted uint32
	_               [4]byte
}

// SRQ is struct ibv_srq.
type SRQ struct {
	_               structs.HostLayout
	Context         uintptr
	SRQContext      uintptr
	PD              uintptr
	Handle          uint32
	_               [4]byte
	Mutex           PthreadMutex
	Cond            PthreadCond
	EventsCompleted uint32
	_               [4]byte
}

// WQ is struct ibv_wq.
type WQ struct {
	_               structs.HostLayout
	Context         uintptr
	WQContext       uintptr
	PD              uintptr
	CQ              uintptr
	WQNum           uint32
	Handle          uint32
	State           WQState
	WQType          WQType
	PostRecv        uintptr
	Mutex           PthreadMutex
	Cond            PthreadCond
	EventsCompleted uint32
	CompMask        uint32
}

// WC is struct ibv_wc.
type WC struct {
	_            structs.HostLayout
	WRID         uint64
	Status       WCStatus
	Opcode       WCOpcode
	VendorErr    uint32
	ByteLen      uint32
	ImmData      uint32 // a union: imm_data, invalidated_rkey
	QPNum        uint32
	SrcQP        uint32
	WCFlags      WCFlags
	PKeyIndex    uint16
	SLID         uint16
	SL           uint8
	DLIDPathBits uint8
	_            [2]byte
}

// MWBindInfo is struct ibv_mw_bind_info.
type MWBindInfo struct {
	_             structs.HostLayout
	MR            uintptr
	Addr          uint64
	Length        uint64
	MWAccessFlags AccessFlags
	_             [4]byte
}

// MR is struct ibv_mr.
type MR struct {
	_       structs.HostLayout
	Context uintptr
	PD      uintptr
	Addr    uintptr
	Length  uint64
	Handle  uint32
	LKey    uint32
	RKey    uint32
	_       [4]byte
}

// PD is struct ibv_pd.
type PD struct {
	_       structs.HostLayout
	Context uintptr
	Handle  uint32
	_       [4]byte
}

// TDInitAttr is struct ibv_td_init_attr.
type TDInitAttr struct {
	_        structs.HostLayout
	CompMask uint32
}

// TD is struct ibv_td.
type TD struct {
	_       structs.HostLayout
	Context uintptr
}

// XRCDInitAttr is struct ibv_xrcd_init_attr.
type XRCDInitAttr struct {
	_        structs.HostLayout
	CompMask uint32
	FD       int32
	OFlags   int32
}

// XRCD is struct ibv_xrcd.
type XRCD struct {
	_       structs.HostLayout
	Context uintptr
}

// MW is struct ibv_mw.
type MW struct {
	_       structs.HostLayout
	Context uintptr
	PD      uintptr
	RKey    uint32
	Handle  uint32
	Type    MWType
	_       [4]byte
}

// SRQAttr is struct ibv_srq_attr.
type SRQAttr struct {
	_        structs.HostLayout
	MaxWR    uint32
	MaxSGE   uint32
	SRQLimit uint32
}

// SRQInitAttr is struct ibv_srq_init_attr.
type SRQInitAttr struct {
	_          structs.HostLayout
	SRQContext uintptr
	Attr       SRQAttr
	_          [4]byte
}

// TMCap is struct ibv_tm_cap.
type TMCap struct {
	_          structs.HostLayout
	MaxNumTags uint32
	MaxOps     uint32
}

// SRQInitAttrEx is struct ibv_srq_init_attr_ex.
type SRQInitAttrEx struct {
	_          structs.HostLayout
	SRQContext uintptr
	Attr       SRQAttr
	CompMask   uint32
	SRQType    SRQType
	_          [4]byte
	PD         uintptr
	XRCD       uintptr
	CQ         uintptr
	TMCap      TMCap
}

// WQInitAttr is struct ibv_wq_init_attr.
type WQInitAttr struct {
	_           structs.HostLayout
	WQContext   uintptr
	WQType      WQType
	MaxWR       uint32
	MaxSGE      uint32
	_           [4]byte
	PD          uintptr
	CQ          uintptr
	CompMask    uint32
	CreateFlags uint32
}

// WQAttr is struct ibv_wq_attr.
type WQAttr struct {
	_           structs.HostLayout
	AttrMask    uint32
	WQState     WQState
	CurrWQState WQState
	Flags       uint32
	FlagsMask   uint32
}

// RWQIndTable is struct ibv_rwq_ind_table.
type RWQIndTable struct {
	_            structs.HostLayout
	Context      uintptr
	IndTblHandle int32
	IndTblNum    int32
	CompMask     uint32
	_            [4]byte
}

// RWQIndTableInitAttr is struct ibv_rwq_ind_table_init_attr.
type RWQIndTableInitAttr struct {
	_             structs.HostLayout
	LogIndTblSize uint32
	_             [4]byte
	IndTbl        uintptr
	CompMask      uint32
	_             [4]byte
}

// QPCap is struct ibv_qp_cap.
type QPCap struct {
	_             structs.HostLayout
	MaxSendWR     uint32
	MaxRecvWR     uint32
	MaxSendSGE    uint32
	MaxRecvSGE    uint32
	MaxInlineData uint32
}

// QPInitAttr is struct ibv_qp_init_attr.
type QPInitAttr struct {
	_         structs.HostLayout
	QPContext uintptr
	SendCQ    uintptr
	RecvCQ    uintptr
	SRQ       uintptr
	Cap       QPCap
	QPType    QPType
	SQSigAll  int32
	_         [4]byte
}

// RXHashConf is struct ibv_rx_hash_conf.
type RXHashConf struct {
	_                structs.HostLayout
	RXHashFunction   uint8
	RXHashKeyLen     uint8
	_                [6]byte
	RXHashKey        uintptr
	RXHashFieldsMask uint64
}

// QPInitAttrEx is struct ibv_qp_init_attr_ex.
type QPInitAttrEx struct {
	_            structs.HostLayout
	QPContext    uintptr
	SendCQ       uintptr
	RecvCQ       uintptr
	SRQ          uintptr
	Cap          QPCap
	QPType       QPType
	SQSigAll     int32
	CompMask     uint32
	PD           uintptr
	XRCD         uintptr
	CreateFlags  uint32
	MaxTSOHeader uint16
	_            [2]byte
	RWQIndTbl    uintptr
	RXHashConf   RXHashConf
	SourceQPN    uint32
	_            [4]byte
	SendOpsFlags uint64
}

// QPOpenAttr is struct ibv_qp_open_attr.
type QPOpenAttr struct {
	_         structs.HostLayout
	CompMask  uint32
	QPNum     uint32
	XRCD      uintptr
	QPContext uintptr
	QPType    QPType
	_         [4]byte
}

// QPAttr is struct ibv_qp_attr.
type QPAttr struct {
	_                structs.HostLayout
	QPState          QPState
	CurQPState       QPState
	PathMTU          MTU
	PathMigState     MigState
	QKey             uint32
	RQPSN            uint32
	SQPSN            uint32
	DestQPNum        uint32
	QPAccessFlags    AccessFlags
	Cap              QPCap
	AHAttr           AHAttr
	AltAHAttr        AHAttr
	PKeyIndex        uint16
	AltPKeyIndex     uint16
	EnSqdAsyncNotify uint8
	SQDraining       uint8
	MaxRDAtomic      uint8
	MaxDestRDAtomic  uint8
	MinRNRTimer      uint8
	PortNum          uint8
	Timeout          uint8
	RetryCnt         uint8
	RNRRetry         uint8
	AltPortNum       uint8
	AltTimeout       uint8
	_                [1]byte
	RateLimit        uint32
	_                [4]byte
}

// QPRateLimitAttr is struct ibv_qp_rate_limit_attr.
type QPRateLimitAttr struct {
	_            structs.HostLayout
	RateLimit    uint32
	MaxBurstSz   uint32
	TypicalPktSz uint16
	_            [2]byte
	CompMask     uint32
}

// DataBuf is struct ibv_data_buf.
type DataBuf struct {
	_      structs.HostLayout
	Addr   uintptr
	Length uint64
}

// SGE is struct ibv_sge.
type SGE struct {
	_      structs.HostLayout
	Addr   uint64
	Length uint32
	LKey   uint32
}

// AH is struct ibv_ah.
type AH struct {
	_       structs.HostLayout
	Context uintptr
	PD      uintptr
	Handle  uint32
	_       [4]byte
}

// SendWR is struct ibv_send_wr.
type SendWR struct {
	_          structs.HostLayout
	WRID       uint64
	Next       uintptr
	SGList     uintptr
	NumSGE     int32
	Opcode     WROpcode
	SendFlags  SendFlags
	ImmData    uint32    // a union: imm_data, invalidate_rkey
	WR         [4]uint64 // a union: rdma, atomic, ud
	RemoteSRQN uint32    // qp_type.xrc.remote_srqn
	_          [4]byte
	BindMW     BindMW // a union: bind_mw, tso
}

// RecvWR is struct ibv_recv_wr.
type RecvWR struct {
	_      structs.HostLayout
	WRID   uint64
	Next   uintptr
	SGList uintptr
	NumSGE int32
	_      [4]byte
}

// MWBind is struct ibv_mw_bind.
type MWBind struct {
	_         structs.HostLayout
	WRID      uint64
	SendFlags SendFlags
	_         [4]byte
	BindInfo  MWBindInfo
}

// QPEx is struct ibv_qp_ex.
type QPEx struct {
	_                   structs.HostLayout
	QPBase              QP
	CompMask            uint64
	WRID                uint64
	WRFlags             SendFlags
	_                   [4]byte
	WRAtomicCmpSwp      uintptr
	WRAtomicFetchAdd    uintptr
	WRBindMW            uintptr
	WRLocalInv          uintptr
	WRRDMARead          uintptr
	WRRDMAWrite         uintptr
	WRRDMAWriteImm      uintptr
	WRSend              uintptr
	WRSendImm           uintptr
	WRSendInv           uintptr
	WRSendTSO           uintptr
	WRSetUDAddr         uintptr
	WRSetXRCSRQN        uintptr
	WRSetInlineData     uintptr
	WRSetInlineDataList uintptr
	WRSetSGE            uintptr
	WRSetSGEList        uintptr
	WRStart             uintptr
	WRComplete          uintptr
	WRAbort             uintptr
	WRAtomicWrite       uintptr
}

// ECE is struct ibv_ece.
type ECE struct {
	_        structs.HostLayout
	VendorID uint32
	Options  uint32
	CompMask uint32
}

// CompChannel is struct ibv_comp_channel.
type CompChannel struct {
	_       structs.HostLayout
	Context uintptr
	FD      int32
	Refcnt  int32
}

// PollCQAttr is struct ibv_poll_cq_attr.
type PollCQAttr struct {
	_        structs.HostLayout
	CompMask uint32
}

// CQEx is struct ibv_cq_ex.
type CQEx struct {
	_                         structs.HostLayout
	Context                   uintptr
	Channel                   uintptr
	CQContext                 uintptr
	Handle                    uint32
	CQE                       int32
	Mutex                     PthreadMutex
	Cond                      PthreadCond
	CompEventsCompleted       uint32
	AsyncEventsCompleted      uint32
	CompMask                  uint32
	Status                    WCStatus
	WRID                      uint64
	StartPoll                 uintptr
	NextPoll                  uintptr
	EndPoll                   uintptr
	ReadOpcode                uintptr
	ReadVendorErr             uintptr
	ReadByteLen               uintptr
	ReadImmData               uintptr
	ReadQPNum                 uintptr
	ReadSrcQP                 uintptr
	ReadWCFlags               uintptr
	ReadSLID                  uintptr
	ReadSL                    uintptr
	ReadDLIDPathBits          uintptr
	ReadCompletionTimestamp   uintptr
	ReadCVLAN                 uintptr
	ReadFlowTag               uintptr
	ReadTMInfo                uintptr
	ReadCompletionWallclockNS uintptr
}

// ModerateCQ is struct ibv_moderate_cq.
type ModerateCQ struct {
	_        structs.HostLayout
	CQCount  uint16
	CQPeriod uint16
}

// ModifyCQAttr is struct ibv_modify_cq_attr.
type ModifyCQAttr struct {
	_        structs.HostLayout
	AttrMask uint32
	Moderate ModerateCQ
}

// CQInitAttrEx is struct ibv_cq_init_attr_ex.
type CQInitAttrEx struct {
	_            structs.HostLayout
	CQE          uint32
	_            [4]byte
	CQContext    uintptr
	Channel      uintptr
	CompVector   uint32
	_            [4]byte
	WCFlags      uint64
	CompMask     uint32
	Flags        uint32
	ParentDomain uintptr
}

// ParentDomainInitAttr is struct ibv_parent_domain_init_attr.
type ParentDomainInitAttr struct {
	_         structs.HostLayout
	PD        uintptr
	TD        uintptr
	CompMask  uint32
	_         [4]byte
	Alloc     uintptr
	Free      uintptr
	PDContext uintptr
}
