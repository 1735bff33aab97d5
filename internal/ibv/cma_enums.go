package ibv

// CMEventType is enum rdma_cm_event_type.
type CMEventType uint32

const (
	RDMA_CM_EVENT_ADDR_RESOLVED    CMEventType = 0
	RDMA_CM_EVENT_ADDR_ERROR       CMEventType = 1
	RDMA_CM_EVENT_ROUTE_RESOLVED   CMEventType = 2
	RDMA_CM_EVENT_ROUTE_ERROR      CMEventType = 3
	RDMA_CM_EVENT_CONNECT_REQUEST  CMEventType = 4
	RDMA_CM_EVENT_CONNECT_RESPONSE CMEventType = 5
	RDMA_CM_EVENT_CONNECT_ERROR    CMEventType = 6
	RDMA_CM_EVENT_UNREACHABLE      CMEventType = 7
	RDMA_CM_EVENT_REJECTED         CMEventType = 8
	RDMA_CM_EVENT_ESTABLISHED      CMEventType = 9
	RDMA_CM_EVENT_DISCONNECTED     CMEventType = 10
	RDMA_CM_EVENT_DEVICE_REMOVAL   CMEventType = 11
	RDMA_CM_EVENT_MULTICAST_JOIN   CMEventType = 12
	RDMA_CM_EVENT_MULTICAST_ERROR  CMEventType = 13
	RDMA_CM_EVENT_ADDR_CHANGE      CMEventType = 14
	RDMA_CM_EVENT_TIMEWAIT_EXIT    CMEventType = 15
)

// PortSpace is enum rdma_port_space.
type PortSpace uint32

const (
	RDMA_PS_IPOIB PortSpace = 2
	RDMA_PS_TCP   PortSpace = 262
	RDMA_PS_UDP   PortSpace = 273
	RDMA_PS_IB    PortSpace = 319
)

const (
	RDMA_MAX_RESP_RES   = 255
	RDMA_MAX_INIT_DEPTH = 255
)

// CMJoinMCAttrMask is enum rdma_cm_join_mc_attr_mask.
type CMJoinMCAttrMask uint32

const (
	RDMA_CM_JOIN_MC_ATTR_ADDRESS    CMJoinMCAttrMask = 1
	RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS CMJoinMCAttrMask = 2
	RDMA_CM_JOIN_MC_ATTR_RESERVED   CMJoinMCAttrMask = 4
)

// CMMCJoinFlags is enum rdma_cm_mc_join_flags.
type CMMCJoinFlags uint32

const (
	RDMA_MC_JOIN_FLAG_FULLMEMBER          CMMCJoinFlags = 0
	RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER CMMCJoinFlags = 1
	RDMA_MC_JOIN_FLAG_RESERVED            CMMCJoinFlags = 2
)

const (
	RDMA_OPTION_ID = 0
	RDMA_OPTION_IB = 1
)

const (
	RDMA_OPTION_ID_TOS         = 0
	RDMA_OPTION_ID_REUSEADDR   = 1
	RDMA_OPTION_ID_AFONLY      = 2
	RDMA_OPTION_ID_ACK_TIMEOUT = 3
)

const (
	RDMA_OPTION_IB_PATH = 1
)
