package ibv

import "strings"

// Answer is what a function of the libraries returns when it can't do its work.
type Answer uint8

const (
	Null     Answer = iota // a null pointer, and errno
	Errno                  // the error's number, and errno
	Minus                  // -1, and errno
	Negative               // the error's number below 0
	Nothing                // the function returns nothing, or a plain value, which is 0 then

	// These need no engine: the library answers them by itself.
	Zero    // 0
	Two     // 2
	Missing // ENOSYS, as a number
	Byte    // no function, but one byte of data, 0
)

// Alone says that the library answers by itself, always the same.
func (a Answer) Alone() bool { return a >= Zero }

// Result is what a function that can't do its work returns for an error, and the errno that it leaves, 0 for none.
func (a Answer) Result(errno int) (result uintptr, left int) {
	switch a {
	case Errno:
		return uintptr(errno), errno
	case Minus:
		return ^uintptr(0), errno
	case Negative:
		return uintptr(-errno), 0
	case Nothing:
		return 0, 0
	}
	return 0, errno
}

// Symbol is a symbol of libibverbs or librdmacm.
type Symbol struct {
	Name   string
	Nodes  []string // version nodes in which it stands; the last one is the default
	Answer Answer
}

// Nodes are the version nodes, each with the one that it inherits from.
var Nodes = []struct{ Name, Parent string }{
	{"IBVERBS_1.0", ""},
	{"IBVERBS_1.1", "IBVERBS_1.0"},
	{"IBVERBS_1.5", "IBVERBS_1.1"},
	{"IBVERBS_1.6", "IBVERBS_1.5"},
	{"IBVERBS_1.7", "IBVERBS_1.6"},
	{"IBVERBS_1.8", "IBVERBS_1.7"},
	{"IBVERBS_1.9", "IBVERBS_1.8"},
	{"IBVERBS_1.10", "IBVERBS_1.9"},
	{"IBVERBS_1.11", "IBVERBS_1.10"},
	{"IBVERBS_1.12", "IBVERBS_1.11"},
	{"IBVERBS_1.13", "IBVERBS_1.12"},
	{"IBVERBS_1.14", "IBVERBS_1.13"},
	{"IBVERBS_1.15", "IBVERBS_1.14"},
	{"IBVERBS_1.16", "IBVERBS_1.15"},
	{"IBVERBS_1.17", "IBVERBS_1.16"},
	{"IBVERBS_1.18", "IBVERBS_1.17"},
	{"RDMACM_1.0", ""},
	{"RDMACM_1.1", "RDMACM_1.0"},
	{"RDMACM_1.2", "RDMACM_1.1"},
	{"RDMACM_1.3", "RDMACM_1.2"},
	{"RDMACM_1.4", "RDMACM_1.3"},
	{"RDMACM_1.5", "RDMACM_1.4"},
	{"IBVERBS_PRIVATE_34", ""},
	{"IBVERBS_PRIVATE_57", ""},
	{"IBVERBS_PRIVATE_59", ""},
	{"IBVERBS_PRIVATE_64", ""},
	{"IBVERBS_PRIVATE_65", ""},
}

// private is the prefix of the nodes whose names change with the ABI between rdma-core's libraries.
const private = "IBVERBS_PRIVATE_"

// groups are the symbols by node and answer. A private symbol stands in all private nodes, except for
// verbs_register_driver_N. Programs call only ibv_query_gid_type of the private ones; the others must be there for the
// providers of adapters, which perftest and UCX load.
var groups = []struct {
	node   string
	answer Answer
	names  string
}{
	{"IBVERBS_1.0", Null, `ibv_create_comp_channel ibv_get_sysfs_path`},
	{"IBVERBS_1.0", Errno, `ibv_destroy_comp_channel`},
	{"IBVERBS_1.0", Minus, `ibv_read_sysfs_file ibv_rate_to_mult`},
	{"IBVERBS_1.0", Nothing, `ibv_copy_path_rec_from_kern ibv_copy_path_rec_to_kern ibv_copy_qp_attr_from_kern
		mult_to_ibv_rate`},
	{"IBVERBS_1.1", Null, `ibv_alloc_pd ibv_create_ah ibv_create_ah_from_wc ibv_create_cq ibv_create_qp ibv_create_srq
		ibv_event_type_str ibv_get_device_list ibv_get_device_name ibv_node_type_str ibv_open_device ibv_port_state_str
		ibv_reg_mr ibv_wc_status_str`},
	{"IBVERBS_1.1", Errno, `ibv_attach_mcast ibv_dealloc_pd ibv_dereg_mr ibv_destroy_ah ibv_destroy_cq ibv_destroy_qp
		ibv_destroy_srq ibv_detach_mcast ibv_modify_qp ibv_modify_srq ibv_query_device ibv_query_port ibv_query_qp
		ibv_query_srq ibv_resize_cq`},
	{"IBVERBS_1.1", Minus, `ibv_close_device ibv_get_async_event ibv_get_cq_event ibv_init_ah_from_wc ibv_query_gid
		ibv_query_pkey ibv_rate_to_mbps ibv_rereg_mr ibv_resolve_eth_l2_from_gid`},
	{"IBVERBS_1.1", Nothing, `ibv_ack_async_event ibv_ack_cq_events ibv_copy_ah_attr_from_kern ibv_free_device_list
		ibv_get_device_guid mbps_to_ibv_rate`},
	{"IBVERBS_1.1", Zero, `ibv_dofork_range ibv_dontfork_range ibv_fork_init ibv_register_driver`},
	{"IBVERBS_1.5", Minus, `ibv_get_pkey_index`},
	{"IBVERBS_1.6", Null, `ibv_qp_to_qp_ex`},
	{"IBVERBS_1.7", Null, `ibv_reg_mr_iova`},
	{"IBVERBS_1.8", Null, `ibv_reg_mr_iova2`},
	{"IBVERBS_1.9", Minus, `ibv_get_device_index`},
	{"IBVERBS_1.10", Null, `ibv_import_device ibv_import_mr ibv_import_pd`},
	{"IBVERBS_1.10", Errno, `ibv_query_ece ibv_set_ece`},
	{"IBVERBS_1.10", Nothing, `ibv_unimport_mr ibv_unimport_pd`},
	{"IBVERBS_1.11", Errno, `_ibv_query_gid_ex`},
	{"IBVERBS_1.11", Negative, `_ibv_query_gid_table`},
	{"IBVERBS_1.12", Null, `ibv_reg_dmabuf_mr`},
	{"IBVERBS_1.13", Null, `ibv_import_dm`},
	{"IBVERBS_1.13", Nothing, `ibv_unimport_dm`},
	{"IBVERBS_1.13", Two, `ibv_is_fork_initialized`}, // IBV_FORK_UNNEEDED
	{"IBVERBS_1.14", Nothing, `ibv_query_qp_data_in_order`},
	{"IBVERBS_1.15", Null, `ibv_alloc_dmah ibv_reg_mr_ex`},
	{"IBVERBS_1.15", Errno, `ibv_dealloc_dmah`},
	{"IBVERBS_1.16", Minus, `ibv_dm_export_dmabuf_fd`},
	{"IBVERBS_1.16", Errno, `ibv_query_port_speed`},
	{"IBVERBS_1.17", Null, `ibv_alloc_buf ibv_reg_buf_mr`},
	{"IBVERBS_1.17", Errno, `ibv_free_buf`},
	{"IBVERBS_1.18", Null, `ibv_create_comp_cntr`},
	{"IBVERBS_1.18", Errno, `_ibv_query_comp_cntr_caps ibv_destroy_comp_cntr ibv_inc_comp_cntr ibv_inc_err_comp_cntr
		ibv_qp_attach_comp_cntr ibv_read_comp_cntr ibv_read_err_comp_cntr ibv_set_comp_cntr ibv_set_err_comp_cntr`},
	{"IBVERBS_1.18", Minus, `ibv_export_buf_dmabuf_fd`},

	{"RDMACM_1.0", Minus, `raccept rbind rclose rconnect rdma_accept rdma_ack_cm_event rdma_bind_addr rdma_connect
		rdma_create_ep rdma_create_id rdma_create_qp rdma_create_qp_ex rdma_create_srq rdma_create_srq_ex
		rdma_destroy_id rdma_disconnect rdma_get_cm_event rdma_get_request rdma_getaddrinfo rdma_join_multicast
		rdma_leave_multicast rdma_listen rdma_migrate_id rdma_notify rdma_reject rdma_resolve_addr rdma_resolve_route
		rdma_set_option rfcntl rgetpeername rgetsockname rgetsockopt riounmap rlisten rpoll rread rreadv rrecv
		rrecvfrom rrecvmsg rselect rsend rsendmsg rsendto rsetsockopt rshutdown rsocket rwrite rwritev riowrite riomap`},
	{"RDMACM_1.0", Null, `rdma_create_event_channel rdma_event_str rdma_get_devices`},
	{"RDMACM_1.0", Nothing, `rdma_destroy_ep rdma_destroy_event_channel rdma_destroy_qp rdma_destroy_srq
		rdma_free_devices rdma_freeaddrinfo rdma_get_dst_port rdma_get_src_port`},
	{"RDMACM_1.1", Minus, `rdma_join_multicast_ex`},
	{"RDMACM_1.2", Minus, `rdma_establish rdma_init_qp_attr`},
	{"RDMACM_1.3", Minus, `rdma_get_remote_ece rdma_reject_ece rdma_set_local_ece`},
	{"RDMACM_1.4", Minus, `rdma_query_addrinfo rdma_resolve_addrinfo rdma_write_cm_event`},
	{"RDMACM_1.5", Minus, `repoll_create repoll_ctl repoll_wait`},

	{private, Minus, `ibv_query_gid_type`},
	{private, Byte, `verbs_allow_disassociate_destroy`},
	{private, Zero, `__verbs_log _verbs_init_and_alloc_context ibv_wr_opcode_str verbs_init_cq verbs_open_device
		verbs_set_ops verbs_uninit_context`},
	{private, Missing, `__ioctl_final_num_attrs execute_ioctl ibv_cmd_advise_mr ibv_cmd_alloc_dm ibv_cmd_alloc_dmah
		ibv_cmd_alloc_mw ibv_cmd_alloc_pd ibv_cmd_attach_mcast ibv_cmd_close_xrcd ibv_cmd_create_ah
		ibv_cmd_create_comp_cntr ibv_cmd_create_counters ibv_cmd_create_cq ibv_cmd_create_cq_ex ibv_cmd_create_cq_ex2
		ibv_cmd_create_flow ibv_cmd_create_flow_action_esp ibv_cmd_create_qp ibv_cmd_create_qp_ex2
		ibv_cmd_create_qp_ex ibv_cmd_create_rwq_ind_table ibv_cmd_create_srq ibv_cmd_create_srq_ex ibv_cmd_create_wq
		ibv_cmd_dealloc_mw ibv_cmd_dealloc_pd ibv_cmd_dereg_mr ibv_cmd_destroy_ah ibv_cmd_destroy_comp_cntr
		ibv_cmd_destroy_counters ibv_cmd_destroy_cq ibv_cmd_destroy_flow ibv_cmd_destroy_flow_action
		ibv_cmd_destroy_qp ibv_cmd_destroy_rwq_ind_table ibv_cmd_destroy_srq ibv_cmd_destroy_wq ibv_cmd_detach_mcast
		ibv_cmd_export_dmabuf_fd ibv_cmd_free_dm ibv_cmd_free_dmah ibv_cmd_get_context ibv_cmd_inc_comp_cntr
		ibv_cmd_inc_err_comp_cntr ibv_cmd_modify_cq ibv_cmd_modify_flow_action_esp ibv_cmd_modify_qp
		ibv_cmd_modify_qp_ex ibv_cmd_modify_srq ibv_cmd_modify_wq ibv_cmd_open_qp ibv_cmd_open_xrcd ibv_cmd_poll_cq
		ibv_cmd_post_recv ibv_cmd_post_send ibv_cmd_post_srq_recv ibv_cmd_qp_attach_comp_cntr
		ibv_cmd_query_comp_cntr_caps ibv_cmd_query_context ibv_cmd_query_device_any ibv_cmd_query_mr
		ibv_cmd_query_port ibv_cmd_query_port_speed ibv_cmd_query_qp ibv_cmd_query_srq ibv_cmd_read_comp_cntr
		ibv_cmd_read_counters ibv_cmd_read_err_comp_cntr ibv_cmd_reg_dm_mr ibv_cmd_reg_dmabuf_mr ibv_cmd_reg_mr
		ibv_cmd_reg_mr_ex ibv_cmd_req_notify_cq ibv_cmd_rereg_mr ibv_cmd_resize_cq ibv_cmd_set_comp_cntr
		ibv_cmd_set_err_comp_cntr ibv_dmabuf_heap_alloc ibv_dmabuf_heap_cc_shared_init ibv_dmabuf_heap_destroy
		ibv_dmabuf_heap_free ibv_read_ibdev_sysfs_file`},
}

// Symbols lists all symbols of both libraries, as rdma-core 44 (Debian 12) to 65 have them. The variants of version 1.0
// that 1.1 replaced in 2006, with other structures, are not there: no program of today was linked with them.
func Symbols() []Symbol {
	var list []Symbol
	var privates []string
	for _, n := range Nodes {
		if version, ok := strings.CutPrefix(n.Name, private); ok {
			privates = append(privates, n.Name)
			list = append(list, Symbol{"verbs_register_driver_" + version, []string{n.Name}, Zero})
		}
	}
	for _, g := range groups {
		nodes := []string{g.node}
		if g.node == private {
			nodes = privates
		}
		for _, name := range strings.Fields(g.names) {
			list = append(list, Symbol{name, nodes, g.answer})
		}
	}
	return list
}
