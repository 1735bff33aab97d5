package ibv

// GIDType is enum ibv_gid_type.
type GIDType uint32

const (
	GID_TYPE_IB      GIDType = 0
	GID_TYPE_ROCE_V1 GIDType = 1
	GID_TYPE_ROCE_V2 GIDType = 2
)

// NodeType is enum ibv_node_type.
type NodeType int32

const (
	NODE_UNKNOWN     NodeType = -1
	NODE_CA          NodeType = 1
	NODE_SWITCH      NodeType = 2
	NODE_ROUTER      NodeType = 3
	NODE_RNIC        NodeType = 4
	NODE_USNIC       NodeType = 5
	NODE_USNIC_UDP   NodeType = 6
	NODE_UNSPECIFIED NodeType = 7
)

// TransportType is enum ibv_transport_type.
type TransportType int32

const (
	TRANSPORT_UNKNOWN     TransportType = -1
	TRANSPORT_IB          TransportType = 0
	TRANSPORT_IWARP       TransportType = 1
	TRANSPORT_USNIC       TransportType = 2
	TRANSPORT_USNIC_UDP   TransportType = 3
	TRANSPORT_UNSPECIFIED TransportType = 4
)

// DeviceCapFlags is enum ibv_device_cap_flags.
type DeviceCapFlags uint32

const (
	DEVICE_RESIZE_MAX_WR         DeviceCapFlags = 1
	DEVICE_BAD_PKEY_CNTR         DeviceCapFlags = 2
	DEVICE_BAD_QKEY_CNTR         DeviceCapFlags = 4
	DEVICE_RAW_MULTI             DeviceCapFlags = 8
	DEVICE_AUTO_PATH_MIG         DeviceCapFlags = 16
	DEVICE_CHANGE_PHY_PORT       DeviceCapFlags = 32
	DEVICE_UD_AV_PORT_ENFORCE    DeviceCapFlags = 64
	DEVICE_CURR_QP_STATE_MOD     DeviceCapFlags = 1 << 7
	DEVICE_SHUTDOWN_PORT         DeviceCapFlags = 1 << 8
	DEVICE_INIT_TYPE             DeviceCapFlags = 1 << 9
	DEVICE_PORT_ACTIVE_EVENT     DeviceCapFlags = 1 << 10
	DEVICE_SYS_IMAGE_GUID        DeviceCapFlags = 1 << 11
	DEVICE_RC_RNR_NAK_GEN        DeviceCapFlags = 1 << 12
	DEVICE_SRQ_RESIZE            DeviceCapFlags = 1 << 13
	DEVICE_N_NOTIFY_CQ           DeviceCapFlags = 1 << 14
	DEVICE_MEM_WINDOW            DeviceCapFlags = 1 << 17
	DEVICE_UD_IP_CSUM            DeviceCapFlags = 1 << 18
	DEVICE_XRC                   DeviceCapFlags = 1 << 20
	DEVICE_MEM_MGT_EXTENSIONS    DeviceCapFlags = 1 << 21
	DEVICE_MEM_WINDOW_TYPE_2A    DeviceCapFlags = 1 << 23
	DEVICE_MEM_WINDOW_TYPE_2B    DeviceCapFlags = 1 << 24
	DEVICE_RC_IP_CSUM            DeviceCapFlags = 1 << 25
	DEVICE_RAW_IP_CSUM           DeviceCapFlags = 1 << 26
	DEVICE_MANAGED_FLOW_STEERING DeviceCapFlags = 1 << 29
)

// ForkStatus is enum ibv_fork_status.
type ForkStatus uint32

const (
	FORK_DISABLED ForkStatus = 0
	FORK_ENABLED  ForkStatus = 1
	FORK_UNNEEDED ForkStatus = 2
)

// AtomicCap is enum ibv_atomic_cap.
type AtomicCap uint32

const (
	ATOMIC_NONE AtomicCap = 0
	ATOMIC_HCA  AtomicCap = 1
	ATOMIC_GLOB AtomicCap = 2
)

// ODPTransportCapBits is enum ibv_odp_transport_cap_bits.
type ODPTransportCapBits uint32

const (
	ODP_SUPPORT_SEND     ODPTransportCapBits = 1
	ODP_SUPPORT_RECV     ODPTransportCapBits = 2
	ODP_SUPPORT_WRITE    ODPTransportCapBits = 4
	ODP_SUPPORT_READ     ODPTransportCapBits = 8
	ODP_SUPPORT_ATOMIC   ODPTransportCapBits = 16
	ODP_SUPPORT_SRQ_RECV ODPTransportCapBits = 32
)

// ODPGeneralCaps is enum ibv_odp_general_caps.
type ODPGeneralCaps uint32

const (
	ODP_SUPPORT          ODPGeneralCaps = 1
	ODP_SUPPORT_IMPLICIT ODPGeneralCaps = 2
)

// RawPacketCaps is enum ibv_raw_packet_caps.
type RawPacketCaps uint32

const (
	RAW_PACKET_CAP_CVLAN_STRIPPING RawPacketCaps = 1
	RAW_PACKET_CAP_SCATTER_FCS     RawPacketCaps = 2
	RAW_PACKET_CAP_IP_CSUM         RawPacketCaps = 4
	RAW_PACKET_CAP_DELAY_DROP      RawPacketCaps = 8
)

// PCIAtomicOpSize is enum ibv_pci_atomic_op_size.
type PCIAtomicOpSize uint32

const (
	PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP  PCIAtomicOpSize = 1
	PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP  PCIAtomicOpSize = 2
	PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP PCIAtomicOpSize = 4
)

// MTU is enum ibv_mtu.
type MTU uint32

const (
	MTU_256  MTU = 1
	MTU_512  MTU = 2
	MTU_1024 MTU = 3
	MTU_2048 MTU = 4
	MTU_4096 MTU = 5
)

// PortState is enum ibv_port_state.
type PortState uint32

const (
	PORT_NOP          PortState = 0
	PORT_DOWN         PortState = 1
	PORT_INIT         PortState = 2
	PORT_ARMED        PortState = 3
	PORT_ACTIVE       PortState = 4
	PORT_ACTIVE_DEFER PortState = 5
)

const (
	LINK_LAYER_UNSPECIFIED = 0
	LINK_LAYER_INFINIBAND  = 1
	LINK_LAYER_ETHERNET    = 2
)

// PortCapFlags is enum ibv_port_cap_flags.
type PortCapFlags uint32

const (
	PORT_SM                        PortCapFlags = 2
	PORT_NOTICE_SUP                PortCapFlags = 4
	PORT_TRAP_SUP                  PortCapFlags = 8
	PORT_OPT_IPD_SUP               PortCapFlags = 16
	PORT_AUTO_MIGR_SUP             PortCapFlags = 32
	PORT_SL_MAP_SUP                PortCapFlags = 64
	PORT_MKEY_NVRAM                PortCapFlags = 1 << 7
	PORT_PKEY_NVRAM                PortCapFlags = 1 << 8
	PORT_LED_INFO_SUP              PortCapFlags = 1 << 9
	PORT_SYS_IMAGE_GUID_SUP        PortCapFlags = 1 << 11
	PORT_PKEY_SW_EXT_PORT_TRAP_SUP PortCapFlags = 1 << 12
	PORT_EXTENDED_SPEEDS_SUP       PortCapFlags = 1 << 14
	PORT_CAP_MASK2_SUP             PortCapFlags = 1 << 15
	PORT_CM_SUP                    PortCapFlags = 1 << 16
	PORT_SNMP_TUNNEL_SUP           PortCapFlags = 1 << 17
	PORT_REINIT_SUP                PortCapFlags = 1 << 18
	PORT_DEVICE_MGMT_SUP           PortCapFlags = 1 << 19
	PORT_VENDOR_CLASS_SUP          PortCapFlags = 1 << 20
	PORT_DR_NOTICE_SUP             PortCapFlags = 1 << 21
	PORT_CAP_MASK_NOTICE_SUP       PortCapFlags = 1 << 22
	PORT_BOOT_MGMT_SUP             PortCapFlags = 1 << 23
	PORT_LINK_LATENCY_SUP          PortCapFlags = 1 << 24
	PORT_CLIENT_REG_SUP            PortCapFlags = 1 << 25
	PORT_IP_BASED_GIDS             PortCapFlags = 1 << 26
)

// PortCapFlags2 is enum ibv_port_cap_flags2.
type PortCapFlags2 uint32

const (
	PORT_SET_NODE_DESC_SUP           PortCapFlags2 = 1
	PORT_INFO_EXT_SUP                PortCapFlags2 = 2
	PORT_VIRT_SUP                    PortCapFlags2 = 4
	PORT_SWITCH_PORT_STATE_TABLE_SUP PortCapFlags2 = 8
	PORT_LINK_WIDTH_2X_SUP           PortCapFlags2 = 16
	PORT_LINK_SPEED_HDR_SUP          PortCapFlags2 = 32
	PORT_LINK_SPEED_NDR_SUP          PortCapFlags2 = 1 << 10
)

// EventType is enum ibv_event_type.
type EventType uint32

const (
	EVENT_CQ_ERR              EventType = 0
	EVENT_QP_FATAL            EventType = 1
	EVENT_QP_REQ_ERR          EventType = 2
	EVENT_QP_ACCESS_ERR       EventType = 3
	EVENT_COMM_EST            EventType = 4
	EVENT_SQ_DRAINED          EventType = 5
	EVENT_PATH_MIG            EventType = 6
	EVENT_PATH_MIG_ERR        EventType = 7
	EVENT_DEVICE_FATAL        EventType = 8
	EVENT_PORT_ACTIVE         EventType = 9
	EVENT_PORT_ERR            EventType = 10
	EVENT_LID_CHANGE          EventType = 11
	EVENT_PKEY_CHANGE         EventType = 12
	EVENT_SM_CHANGE           EventType = 13
	EVENT_SRQ_ERR             EventType = 14
	EVENT_SRQ_LIMIT_REACHED   EventType = 15
	EVENT_QP_LAST_WQE_REACHED EventType = 16
	EVENT_CLIENT_REREGISTER   EventType = 17
	EVENT_GID_CHANGE          EventType = 18
	EVENT_WQ_FATAL            EventType = 19
)

// WCStatus is enum ibv_wc_status.
type WCStatus uint32

const (
	WC_SUCCESS            WCStatus = 0
	WC_LOC_LEN_ERR        WCStatus = 1
	WC_LOC_QP_OP_ERR      WCStatus = 2
	WC_LOC_EEC_OP_ERR     WCStatus = 3
	WC_LOC_PROT_ERR       WCStatus = 4
	WC_WR_FLUSH_ERR       WCStatus = 5
	WC_MW_BIND_ERR        WCStatus = 6
	WC_BAD_RESP_ERR       WCStatus = 7
	WC_LOC_ACCESS_ERR     WCStatus = 8
	WC_REM_INV_REQ_ERR    WCStatus = 9
	WC_REM_ACCESS_ERR     WCStatus = 10
	WC_REM_OP_ERR         WCStatus = 11
	WC_RETRY_EXC_ERR      WCStatus = 12
	WC_RNR_RETRY_EXC_ERR  WCStatus = 13
	WC_LOC_RDD_VIOL_ERR   WCStatus = 14
	WC_REM_INV_RD_REQ_ERR WCStatus = 15
	WC_REM_ABORT_ERR      WCStatus = 16
	WC_INV_EECN_ERR       WCStatus = 17
	WC_INV_EEC_STATE_ERR  WCStatus = 18
	WC_FATAL_ERR          WCStatus = 19
	WC_RESP_TIMEOUT_ERR   WCStatus = 20
	WC_GENERAL_ERR        WCStatus = 21
	WC_TM_ERR             WCStatus = 22
	WC_TM_RNDV_INCOMPLETE WCStatus = 23
)

// WCOpcode is enum ibv_wc_opcode.
type WCOpcode uint32

const (
	WC_SEND               WCOpcode = 0
	WC_RDMA_WRITE         WCOpcode = 1
	WC_RDMA_READ          WCOpcode = 2
	WC_COMP_SWAP          WCOpcode = 3
	WC_FETCH_ADD          WCOpcode = 4
	WC_BIND_MW            WCOpcode = 5
	WC_LOCAL_INV          WCOpcode = 6
	WC_TSO                WCOpcode = 7
	WC_ATOMIC_WRITE       WCOpcode = 9
	WC_RECV               WCOpcode = 1 << 7
	WC_RECV_RDMA_WITH_IMM WCOpcode = 129
	WC_TM_ADD             WCOpcode = 130
	WC_TM_DEL             WCOpcode = 131
	WC_TM_SYNC            WCOpcode = 132
	WC_TM_RECV            WCOpcode = 133
	WC_TM_NO_TAG          WCOpcode = 134
	WC_DRIVER1            WCOpcode = 135
	WC_DRIVER2            WCOpcode = 136
	WC_DRIVER3            WCOpcode = 137
)

const (
	WC_IP_CSUM_OK_SHIFT = 2
)

// CreateCQWCFlags is enum ibv_create_cq_wc_flags.
type CreateCQWCFlags uint32

const (
	WC_EX_WITH_BYTE_LEN                       CreateCQWCFlags = 1
	WC_EX_WITH_IMM                            CreateCQWCFlags = 2
	WC_EX_WITH_QP_NUM                         CreateCQWCFlags = 4
	WC_EX_WITH_SRC_QP                         CreateCQWCFlags = 8
	WC_EX_WITH_SLID                           CreateCQWCFlags = 16
	WC_EX_WITH_SL                             CreateCQWCFlags = 32
	WC_EX_WITH_DLID_PATH_BITS                 CreateCQWCFlags = 64
	WC_EX_WITH_COMPLETION_TIMESTAMP           CreateCQWCFlags = 1 << 7
	WC_EX_WITH_CVLAN                          CreateCQWCFlags = 1 << 8
	WC_EX_WITH_FLOW_TAG                       CreateCQWCFlags = 1 << 9
	WC_EX_WITH_TM_INFO                        CreateCQWCFlags = 1 << 10
	WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK CreateCQWCFlags = 1 << 11
)

const (
	WC_STANDARD_FLAGS = 127
)

const (
	CREATE_CQ_SUP_WC_FLAGS = 4095
)

// WCFlags is enum ibv_wc_flags.
type WCFlags uint32

const (
	WC_GRH           WCFlags = 1
	WC_WITH_IMM      WCFlags = 2
	WC_IP_CSUM_OK    WCFlags = 4
	WC_WITH_INV      WCFlags = 8
	WC_TM_SYNC_REQ   WCFlags = 16
	WC_TM_MATCH      WCFlags = 32
	WC_TM_DATA_VALID WCFlags = 64
)

// AccessFlags is enum ibv_access_flags.
type AccessFlags uint32

const (
	ACCESS_LOCAL_WRITE      AccessFlags = 1
	ACCESS_REMOTE_WRITE     AccessFlags = 2
	ACCESS_REMOTE_READ      AccessFlags = 4
	ACCESS_REMOTE_ATOMIC    AccessFlags = 8
	ACCESS_MW_BIND          AccessFlags = 16
	ACCESS_ZERO_BASED       AccessFlags = 32
	ACCESS_ON_DEMAND        AccessFlags = 64
	ACCESS_HUGETLB          AccessFlags = 1 << 7
	ACCESS_RELAXED_ORDERING AccessFlags = 1 << 20
)

// XRCDInitAttrMask is enum ibv_xrcd_init_attr_mask.
type XRCDInitAttrMask uint32

const (
	XRCD_INIT_ATTR_FD       XRCDInitAttrMask = 1
	XRCD_INIT_ATTR_OFLAGS   XRCDInitAttrMask = 2
	XRCD_INIT_ATTR_RESERVED XRCDInitAttrMask = 4
)

// ReregMRFlags is enum ibv_rereg_mr_flags.
type ReregMRFlags uint32

const (
	REREG_MR_CHANGE_TRANSLATION ReregMRFlags = 1
	REREG_MR_CHANGE_PD          ReregMRFlags = 2
	REREG_MR_CHANGE_ACCESS      ReregMRFlags = 4
	REREG_MR_FLAGS_SUPPORTED    ReregMRFlags = 7
)

// MWType is enum ibv_mw_type.
type MWType uint32

const (
	MW_TYPE_1 MWType = 1
	MW_TYPE_2 MWType = 2
)

// Rate is enum ibv_rate.
type Rate uint32

const (
	RATE_MAX       Rate = 0
	RATE_2_5_GBPS  Rate = 2
	RATE_5_GBPS    Rate = 5
	RATE_10_GBPS   Rate = 3
	RATE_20_GBPS   Rate = 6
	RATE_30_GBPS   Rate = 4
	RATE_40_GBPS   Rate = 7
	RATE_60_GBPS   Rate = 8
	RATE_80_GBPS   Rate = 9
	RATE_120_GBPS  Rate = 10
	RATE_14_GBPS   Rate = 11
	RATE_56_GBPS   Rate = 12
	RATE_112_GBPS  Rate = 13
	RATE_168_GBPS  Rate = 14
	RATE_25_GBPS   Rate = 15
	RATE_100_GBPS  Rate = 16
	RATE_200_GBPS  Rate = 17
	RATE_300_GBPS  Rate = 18
	RATE_28_GBPS   Rate = 19
	RATE_50_GBPS   Rate = 20
	RATE_400_GBPS  Rate = 21
	RATE_600_GBPS  Rate = 22
	RATE_800_GBPS  Rate = 23
	RATE_1200_GBPS Rate = 24
)

// SRQAttrMask is enum ibv_srq_attr_mask.
type SRQAttrMask uint32

const (
	SRQ_MAX_WR SRQAttrMask = 1
	SRQ_LIMIT  SRQAttrMask = 2
)

// SRQType is enum ibv_srq_type.
type SRQType uint32

const (
	SRQT_BASIC SRQType = 0
	SRQT_XRC   SRQType = 1
	SRQT_TM    SRQType = 2
)

// SRQInitAttrMask is enum ibv_srq_init_attr_mask.
type SRQInitAttrMask uint32

const (
	SRQ_INIT_ATTR_TYPE     SRQInitAttrMask = 1
	SRQ_INIT_ATTR_PD       SRQInitAttrMask = 2
	SRQ_INIT_ATTR_XRCD     SRQInitAttrMask = 4
	SRQ_INIT_ATTR_CQ       SRQInitAttrMask = 8
	SRQ_INIT_ATTR_TM       SRQInitAttrMask = 16
	SRQ_INIT_ATTR_RESERVED SRQInitAttrMask = 32
)

// WQType is enum ibv_wq_type.
type WQType uint32

const (
	WQT_RQ WQType = 0
)

// WQInitAttrMask is enum ibv_wq_init_attr_mask.
type WQInitAttrMask uint32

const (
	WQ_INIT_ATTR_FLAGS    WQInitAttrMask = 1
	WQ_INIT_ATTR_RESERVED WQInitAttrMask = 2
)

// WQFlags is enum ibv_wq_flags.
type WQFlags uint32

const (
	WQ_FLAGS_CVLAN_STRIPPING       WQFlags = 1
	WQ_FLAGS_SCATTER_FCS           WQFlags = 2
	WQ_FLAGS_DELAY_DROP            WQFlags = 4
	WQ_FLAGS_PCI_WRITE_END_PADDING WQFlags = 8
	WQ_FLAGS_RESERVED              WQFlags = 16
)

// WQState is enum ibv_wq_state.
type WQState uint32

const (
	WQS_RESET   WQState = 0
	WQS_RDY     WQState = 1
	WQS_ERR     WQState = 2
	WQS_UNKNOWN WQState = 3
)

// WQAttrMask is enum ibv_wq_attr_mask.
type WQAttrMask uint32

const (
	WQ_ATTR_STATE      WQAttrMask = 1
	WQ_ATTR_CURR_STATE WQAttrMask = 2
	WQ_ATTR_FLAGS      WQAttrMask = 4
	WQ_ATTR_RESERVED   WQAttrMask = 8
)

// IndTableInitAttrMask is enum ibv_ind_table_init_attr_mask.
type IndTableInitAttrMask uint32

const (
	CREATE_IND_TABLE_RESERVED IndTableInitAttrMask = 1
)

// QPType is enum ibv_qp_type.
type QPType uint32

const (
	QPT_RC         QPType = 2
	QPT_UC         QPType = 3
	QPT_UD         QPType = 4
	QPT_RAW_PACKET QPType = 8
	QPT_XRC_SEND   QPType = 9
	QPT_XRC_RECV   QPType = 10
	QPT_DRIVER     QPType = 255
)

// QPInitAttrMask is enum ibv_qp_init_attr_mask.
type QPInitAttrMask uint32

const (
	QP_INIT_ATTR_PD             QPInitAttrMask = 1
	QP_INIT_ATTR_XRCD           QPInitAttrMask = 2
	QP_INIT_ATTR_CREATE_FLAGS   QPInitAttrMask = 4
	QP_INIT_ATTR_MAX_TSO_HEADER QPInitAttrMask = 8
	QP_INIT_ATTR_IND_TABLE      QPInitAttrMask = 16
	QP_INIT_ATTR_RX_HASH        QPInitAttrMask = 32
	QP_INIT_ATTR_SEND_OPS_FLAGS QPInitAttrMask = 64
)

// QPCreateFlags is enum ibv_qp_create_flags.
type QPCreateFlags uint32

const (
	QP_CREATE_BLOCK_SELF_MCAST_LB   QPCreateFlags = 2
	QP_CREATE_SCATTER_FCS           QPCreateFlags = 1 << 8
	QP_CREATE_CVLAN_STRIPPING       QPCreateFlags = 1 << 9
	QP_CREATE_SOURCE_QPN            QPCreateFlags = 1 << 10
	QP_CREATE_PCI_WRITE_END_PADDING QPCreateFlags = 1 << 11
)

// QPCreateSendOpsFlags is enum ibv_qp_create_send_ops_flags.
type QPCreateSendOpsFlags uint32

const (
	QP_EX_WITH_RDMA_WRITE           QPCreateSendOpsFlags = 1
	QP_EX_WITH_RDMA_WRITE_WITH_IMM  QPCreateSendOpsFlags = 2
	QP_EX_WITH_SEND                 QPCreateSendOpsFlags = 4
	QP_EX_WITH_SEND_WITH_IMM        QPCreateSendOpsFlags = 8
	QP_EX_WITH_RDMA_READ            QPCreateSendOpsFlags = 16
	QP_EX_WITH_ATOMIC_CMP_AND_SWP   QPCreateSendOpsFlags = 32
	QP_EX_WITH_ATOMIC_FETCH_AND_ADD QPCreateSendOpsFlags = 64
	QP_EX_WITH_LOCAL_INV            QPCreateSendOpsFlags = 1 << 7
	QP_EX_WITH_BIND_MW              QPCreateSendOpsFlags = 1 << 8
	QP_EX_WITH_SEND_WITH_INV        QPCreateSendOpsFlags = 1 << 9
	QP_EX_WITH_TSO                  QPCreateSendOpsFlags = 1 << 10
	QP_EX_WITH_ATOMIC_WRITE         QPCreateSendOpsFlags = 1 << 12
)

// QPOpenAttrMask is enum ibv_qp_open_attr_mask.
type QPOpenAttrMask uint32

const (
	QP_OPEN_ATTR_NUM      QPOpenAttrMask = 1
	QP_OPEN_ATTR_XRCD     QPOpenAttrMask = 2
	QP_OPEN_ATTR_CONTEXT  QPOpenAttrMask = 4
	QP_OPEN_ATTR_TYPE     QPOpenAttrMask = 8
	QP_OPEN_ATTR_RESERVED QPOpenAttrMask = 16
)

// QPAttrMask is enum ibv_qp_attr_mask.
type QPAttrMask uint32

const (
	QP_STATE               QPAttrMask = 1
	QP_CUR_STATE           QPAttrMask = 2
	QP_EN_SQD_ASYNC_NOTIFY QPAttrMask = 4
	QP_ACCESS_FLAGS        QPAttrMask = 8
	QP_PKEY_INDEX          QPAttrMask = 16
	QP_PORT                QPAttrMask = 32
	QP_QKEY                QPAttrMask = 64
	QP_AV                  QPAttrMask = 1 << 7
	QP_PATH_MTU            QPAttrMask = 1 << 8
	QP_TIMEOUT             QPAttrMask = 1 << 9
	QP_RETRY_CNT           QPAttrMask = 1 << 10
	QP_RNR_RETRY           QPAttrMask = 1 << 11
	QP_RQ_PSN              QPAttrMask = 1 << 12
	QP_MAX_QP_RD_ATOMIC    QPAttrMask = 1 << 13
	QP_ALT_PATH            QPAttrMask = 1 << 14
	QP_MIN_RNR_TIMER       QPAttrMask = 1 << 15
	QP_SQ_PSN              QPAttrMask = 1 << 16
	QP_MAX_DEST_RD_ATOMIC  QPAttrMask = 1 << 17
	QP_PATH_MIG_STATE      QPAttrMask = 1 << 18
	QP_CAP                 QPAttrMask = 1 << 19
	QP_DEST_QPN            QPAttrMask = 1 << 20
	QP_RATE_LIMIT          QPAttrMask = 1 << 25
)

// QPState is enum ibv_qp_state.
type QPState uint32

const (
	QPS_RESET   QPState = 0
	QPS_INIT    QPState = 1
	QPS_RTR     QPState = 2
	QPS_RTS     QPState = 3
	QPS_SQD     QPState = 4
	QPS_SQE     QPState = 5
	QPS_ERR     QPState = 6
	QPS_UNKNOWN QPState = 7
)

// MigState is enum ibv_mig_state.
type MigState uint32

const (
	MIG_MIGRATED MigState = 0
	MIG_REARM    MigState = 1
	MIG_ARMED    MigState = 2
)

// WROpcode is enum ibv_wr_opcode.
type WROpcode uint32

const (
	WR_RDMA_WRITE           WROpcode = 0
	WR_RDMA_WRITE_WITH_IMM  WROpcode = 1
	WR_SEND                 WROpcode = 2
	WR_SEND_WITH_IMM        WROpcode = 3
	WR_RDMA_READ            WROpcode = 4
	WR_ATOMIC_CMP_AND_SWP   WROpcode = 5
	WR_ATOMIC_FETCH_AND_ADD WROpcode = 6
	WR_LOCAL_INV            WROpcode = 7
	WR_BIND_MW              WROpcode = 8
	WR_SEND_WITH_INV        WROpcode = 9
	WR_TSO                  WROpcode = 10
	WR_DRIVER1              WROpcode = 11
	WR_ATOMIC_WRITE         WROpcode = 15
)

// SendFlags is enum ibv_send_flags.
type SendFlags uint32

const (
	SEND_FENCE     SendFlags = 1
	SEND_SIGNALED  SendFlags = 2
	SEND_SOLICITED SendFlags = 4
	SEND_INLINE    SendFlags = 8
	SEND_IP_CSUM   SendFlags = 16
)

// CQAttrMask is enum ibv_cq_attr_mask.
type CQAttrMask uint32

const (
	CQ_ATTR_MODERATE CQAttrMask = 1
	CQ_ATTR_RESERVED CQAttrMask = 2
)

// CQInitAttrMask is enum ibv_cq_init_attr_mask.
type CQInitAttrMask uint32

const (
	CQ_INIT_ATTR_MASK_FLAGS CQInitAttrMask = 1
	CQ_INIT_ATTR_MASK_PD    CQInitAttrMask = 2
)

// CreateCQAttrFlags is enum ibv_create_cq_attr_flags.
type CreateCQAttrFlags uint32

const (
	CREATE_CQ_ATTR_SINGLE_THREADED CreateCQAttrFlags = 1
	CREATE_CQ_ATTR_IGNORE_OVERRUN  CreateCQAttrFlags = 2
)

// ParentDomainInitAttrMask is enum ibv_parent_domain_init_attr_mask.
type ParentDomainInitAttrMask uint32

const (
	PARENT_DOMAIN_INIT_ATTR_ALLOCATORS ParentDomainInitAttrMask = 1
	PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT ParentDomainInitAttrMask = 2
)

// ValuesMask is enum ibv_values_mask.
type ValuesMask uint32

const (
	VALUES_MASK_RAW_CLOCK ValuesMask = 1
	VALUES_MASK_RESERVED  ValuesMask = 2
)

// ReregMRErrCode is enum ibv_rereg_mr_err_code.
type ReregMRErrCode int32

const (
	REREG_MR_ERR_INPUT               ReregMRErrCode = -1
	REREG_MR_ERR_DONT_FORK_NEW       ReregMRErrCode = -2
	REREG_MR_ERR_DO_FORK_OLD         ReregMRErrCode = -3
	REREG_MR_ERR_CMD                 ReregMRErrCode = -4
	REREG_MR_ERR_CMD_AND_DO_FORK_NEW ReregMRErrCode = -5
)
