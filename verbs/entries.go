package verbs

import (
	"fmt"
	"sync"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/cm"
	"farside/verbs/internal/engine"
)

// functions are the functions of both libraries that there are.
func functions() map[string]func(*cabi.Call) {
	return map[string]func(*cabi.Call){
		"ibv_event_type_str": named(eventTypes),
		"ibv_node_type_str":  named(nodeTypes),
		"ibv_port_state_str": named(portStates),
		"ibv_wc_status_str":  named(wcStatuses),
		"rdma_event_str":     named(cmEvents),
		"ibv_rate_to_mbps":   func(c *cabi.Call) { c.Result = uintptr(rateToMbps(ibv.Rate(c.Args[0]))) },
		"ibv_rate_to_mult":   func(c *cabi.Call) { c.Result = uintptr(rateToMult(ibv.Rate(c.Args[0]))) },
		"mbps_to_ibv_rate":   func(c *cabi.Call) { c.Result = uintptr(mbpsToRate(c.Int(0))) },
		"mult_to_ibv_rate":   func(c *cabi.Call) { c.Result = uintptr(multToRate(c.Int(0))) },

		"ibv_get_device_list":  getDeviceList,
		"ibv_free_device_list": freeDeviceList,
		"ibv_get_device_name":  getDeviceName,
		"ibv_get_device_guid":  getDeviceGUID,
		"ibv_get_device_index": getDeviceIndex,
		"ibv_get_sysfs_path":   func(c *cabi.Call) { c.Result = sysfsPath().get(0) },
		"ibv_read_sysfs_file":  readSysfsFile,

		"ibv_open_device":      openDevice,
		"ibv_close_device":     closeDevice,
		"ibv_query_device":     queryDevice,
		"ibv_query_port":       queryPortCompat,
		"ibv_query_gid":        queryGID,
		"ibv_query_gid_type":   queryGIDType,
		"_ibv_query_gid_ex":    queryGIDEx,
		"_ibv_query_gid_table": queryGIDTable,
		"ibv_query_pkey":       queryPKey,
		"ibv_get_pkey_index":   getPKeyIndex,

		"ibv_get_async_event": getAsyncEvent,
		"ibv_ack_async_event": ackAsyncEvent,

		"ibv_alloc_pd":        allocPD,
		"ibv_dealloc_pd":      deallocPD,
		"ibv_reg_mr":          regMR,
		"ibv_reg_mr_iova":     regMRIOVA,
		"ibv_reg_mr_iova2":    regMRIOVA,
		"ibv_reg_dmabuf_mr":   regDMABufMR,
		"ibv_rereg_mr":        reregMR,
		"ibv_dereg_mr":        deregMR,
		"ibv_create_ah":       createAH,
		"ibv_destroy_ah":      destroyAH,
		"ibv_init_ah_from_wc": initAHFromWC,

		"ibv_create_ah_from_wc":    createAHFromWC,
		"ibv_create_comp_channel":  createCompChannel,
		"ibv_destroy_comp_channel": destroyCompChannel,
		"ibv_get_cq_event":         getCQEvent,
		"ibv_ack_cq_events":        ackCQEvents,

		"ibv_create_cq":  createCQ,
		"ibv_destroy_cq": destroyCQ,
		"ibv_resize_cq":  resizeCQ,

		"ibv_create_srq":  createSRQ,
		"ibv_destroy_srq": destroySRQ,
		"ibv_query_srq":   querySRQ,
		"ibv_modify_srq":  modifySRQ,

		"ibv_create_qp":    createQP,
		"ibv_destroy_qp":   destroyQP,
		"ibv_modify_qp":    modifyQP,
		"ibv_query_qp":     queryQP,
		"ibv_qp_to_qp_ex":  qpToQPEx,
		"ibv_attach_mcast": attachMcast,
		"ibv_detach_mcast": detachMcast,

		"ibv_query_qp_data_in_order": queryDataInOrder,

		"rdma_create_event_channel":  createEventChannel,
		"rdma_destroy_event_channel": destroyEventChannel,
		"rdma_get_cm_event":          getCMEvent,
		"rdma_ack_cm_event":          ackCMEvent,
		"rdma_create_id":             createID,
		"rdma_destroy_id":            destroyID,
		"rdma_migrate_id":            migrateID,
		"rdma_set_option":            setOption,
		"rdma_bind_addr":             bindAddr,
		"rdma_resolve_addr":          resolveAddr,
		"rdma_resolve_route":         resolveRoute,
		"rdma_listen":                listen,
		"rdma_get_request":           getRequest,
		"rdma_connect":               connect,
		"rdma_accept":                accept,
		"rdma_reject":                reject,
		"rdma_establish":             establish,
		"rdma_notify":                notify,
		"rdma_disconnect":            disconnect,
		"rdma_init_qp_attr":          initQPAttr,
		"rdma_create_qp":             cmCreateQP,
		"rdma_create_qp_ex":          cmCreateQPEx,
		"rdma_destroy_qp":            cmDestroyQP,
		"rdma_create_srq":            cmCreateSRQ,
		"rdma_destroy_srq":           cmDestroySRQ,
		"rdma_create_ep":             createEP,
		"rdma_destroy_ep":            destroyEP,
		"rdma_getaddrinfo":           getAddrinfo,
		"rdma_freeaddrinfo":          freeAddrinfo,
		"rdma_get_devices":           cmDevices,
		"rdma_free_devices":          freeDeviceList,
		"rdma_get_src_port":          portOf(func(id *cm.ID) uint16 { return id.Local().Port() }),
		"rdma_get_dst_port":          portOf(func(id *cm.ID) uint16 { return id.Remote().Port() }),
	}
}

// pointed are the functions that structures point to.
func pointed() []cabi.Verb {
	return []cabi.Verb{
		{Name: "poll_cq", Answer: ibv.Minus, Run: pollCQ},
		{Name: "req_notify_cq", Answer: ibv.Errno, Run: reqNotifyCQ},
		{Name: "post_send", Answer: ibv.Errno, Run: postSend},
		{Name: "post_recv", Answer: ibv.Errno, Run: postRecv},
		{Name: "post_srq_recv", Answer: ibv.Errno, Run: postSRQRecv},
		{Name: "alloc_mw", Answer: ibv.Null, Run: allocMW},
		{Name: "bind_mw", Answer: ibv.Errno, Run: bindMW},
		{Name: "dealloc_mw", Answer: ibv.Errno, Run: deallocMW},

		{Name: "query_port", Answer: ibv.Errno, Run: queryPort},
		{Name: "query_device_ex", Answer: ibv.Errno, Run: queryDeviceEx},
		{Name: "query_rt_values", Answer: ibv.Errno, Run: queryRTValues},
		{Name: "create_cq_ex", Answer: ibv.Null, Run: createCQEx},
		{Name: "create_qp_ex", Answer: ibv.Null, Run: createQPEx},
		{Name: "create_srq_ex", Answer: ibv.Null, Run: createSRQEx},
		{Name: "get_srq_num", Answer: ibv.Errno, Run: getSRQNum},
		{Name: "open_xrcd", Answer: ibv.Null, Run: openXRCD},
		{Name: "close_xrcd", Answer: ibv.Errno, Run: closeXRCD},
		{Name: "open_qp", Answer: ibv.Null, Run: openQP},

		{Name: "start_poll", Answer: ibv.Errno, Run: startPoll},
		{Name: "next_poll", Answer: ibv.Errno, Run: nextPoll},
		{Name: "end_poll", Answer: ibv.Nothing, Run: endPoll},
		{Name: "read_opcode", Answer: ibv.Nothing, Run: reader(func(w *engine.WC) uint64 { return uint64(w.Opcode) })},
		{Name: "read_vendor_err", Answer: ibv.Nothing, Run: reader(func(w *engine.WC) uint64 { return uint64(w.VendorErr) })},
		{Name: "read_byte_len", Answer: ibv.Nothing, Run: reader(func(w *engine.WC) uint64 { return uint64(w.ByteLen) })},
		{Name: "read_imm_data", Answer: ibv.Nothing, Run: reader(func(w *engine.WC) uint64 { return uint64(w.ImmData) })},
		{Name: "read_qp_num", Answer: ibv.Nothing, Run: reader(func(w *engine.WC) uint64 { return uint64(w.QPNum) })},
		{Name: "read_src_qp", Answer: ibv.Nothing, Run: reader(func(w *engine.WC) uint64 { return uint64(w.SrcQP) })},
		{Name: "read_wc_flags", Answer: ibv.Nothing, Run: reader(func(w *engine.WC) uint64 { return uint64(w.WCFlags) })},
		{Name: "read_slid", Answer: ibv.Nothing, Run: reader(func(w *engine.WC) uint64 { return uint64(w.SLID) })},
		{Name: "read_sl", Answer: ibv.Nothing, Run: reader(func(w *engine.WC) uint64 { return uint64(w.SL) })},
		{Name: "read_dlid_path_bits", Answer: ibv.Nothing,
			Run: reader(func(w *engine.WC) uint64 { return uint64(w.DLIDPathBits) })},
		{Name: "read_completion_ts", Answer: ibv.Nothing, Run: reader(func(w *engine.WC) uint64 { return w.Timestamp })},
		{Name: "read_completion_wallclock_ns", Answer: ibv.Nothing, Run: readWallclock},

		{Name: "wr_start", Answer: ibv.Nothing, Run: wrStart},
		{Name: "wr_complete", Answer: ibv.Errno, Run: wrComplete},
		{Name: "wr_abort", Answer: ibv.Nothing, Run: wrAbort},
		{Name: "wr_rdma_write", Answer: ibv.Nothing, Run: wrRDMA(ibv.WR_RDMA_WRITE)},
		{Name: "wr_rdma_write_imm", Answer: ibv.Nothing, Run: wrRDMAWriteImm},
		{Name: "wr_rdma_read", Answer: ibv.Nothing, Run: wrRDMA(ibv.WR_RDMA_READ)},
		{Name: "wr_send", Answer: ibv.Nothing, Run: wrSend},
		{Name: "wr_send_imm", Answer: ibv.Nothing, Run: wrSendImm},
		{Name: "wr_send_inv", Answer: ibv.Nothing, Run: wrInvalidate(ibv.WR_SEND_WITH_INV)},
		{Name: "wr_local_inv", Answer: ibv.Nothing, Run: wrInvalidate(ibv.WR_LOCAL_INV)},
		{Name: "wr_bind_mw", Answer: ibv.Nothing, Run: wrBindMW},
		{Name: "wr_atomic_cmp_swp", Answer: ibv.Nothing, Run: wrAtomicCmpSwp},
		{Name: "wr_atomic_fetch_add", Answer: ibv.Nothing, Run: wrAtomicFetchAdd},
		{Name: "wr_set_ud_addr", Answer: ibv.Nothing, Run: wrSetUDAddr},
		{Name: "wr_set_xrc_srqn", Answer: ibv.Nothing, Run: wrSetXRCSRQN},
		{Name: "wr_set_sge", Answer: ibv.Nothing, Run: wrSetSGE},
		{Name: "wr_set_sge_list", Answer: ibv.Nothing, Run: wrSetSGEList},
		{Name: "wr_set_inline_data", Answer: ibv.Nothing, Run: wrSetInlineData},
		{Name: "wr_set_inline_data_list", Answer: ibv.Nothing, Run: wrSetInlineDataList},
	}
}

// entered is what entries makes, once: before C has the address of any function.
var entered struct {
	once      sync.Once
	addresses map[string]uintptr
}

// entries are where C comes in, by the names of functions. They are made when they are asked for first: most processes
// with the driver have nothing to do with verbs.
func entries() map[string]uintptr {
	entered.once.Do(enter)
	return entered.addresses
}

func enter() {
	cabi.OnFault = func(function string, address uintptr) {
		logger.Warn("memory can't be accessed", "function", function, "address", fmt.Sprintf("%#x", address))
	}
	list, named := pointed(), functions()
	for _, s := range ibv.Symbols() {
		if s.Answer.Alone() {
			continue
		}
		f := named[s.Name]
		if f == nil {
			f = missing(s.Name)
		}
		list = append(list, cabi.Verb{Name: s.Name, Answer: s.Answer, Run: f})
	}
	failOnCommand(list)
	cabi.InstallVerbs(list)
	entered.addresses = map[string]uintptr{}
	for i, v := range list {
		entered.addresses[v.Name] = cabi.VerbEntry(i)
	}
}
