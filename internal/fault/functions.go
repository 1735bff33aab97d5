package fault

import (
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// functionErrors are the functions of libibverbs and librdmacm that can fail on command, with the numbers of errors
// that each may. Few manual pages name any: most say that a function returns "the value of errno". Then it is what the
// kernel gives for its kind of request (drivers/infiniband/core/uverbs_cmd.c, ucma.c).
var functionErrors = []struct {
	errors string
	names  string
}{
	{"EPERM ENOSYS ENOMEM", "ibv_get_device_list"}, // ibv_get_device_list(3)
	{"ENODEV EIO ENOMEM EMFILE EACCES EPERM", "ibv_open_device"},
	{"EINVAL EIO", "ibv_close_device ibv_query_device ibv_query_device_ex ibv_query_port ibv_query_gid ibv_query_pkey"},
	{"EINVAL EIO ENODATA", "_ibv_query_gid_ex"}, // ibv_query_gid_ex(3)
	{"ENOMEM EINVAL EAGAIN EIO", "ibv_alloc_pd ibv_create_ah ibv_create_ah_from_wc"},
	{"ENOMEM EMFILE ENFILE EINVAL", "ibv_create_comp_channel"},
	{"ENOMEM EINVAL EFAULT EPERM EAGAIN EIO EOPNOTSUPP", "ibv_reg_mr ibv_reg_mr_iova ibv_reg_mr_iova2"},
	{"ENOMEM EINVAL EBADF EACCES EPERM EIO EOPNOTSUPP", "ibv_reg_dmabuf_mr"},
	{"ENOMEM EINVAL EIO EOPNOTSUPP", "ibv_alloc_mw ibv_create_cq ibv_create_cq_ex ibv_create_srq ibv_create_srq_ex " +
		"ibv_create_qp ibv_create_qp_ex"},
	{"ENOMEM EINVAL EIO EOPNOTSUPP", "ibv_resize_cq ibv_modify_srq ibv_attach_mcast"},
	{"ENOMEM EINVAL EIO EBUSY EFAULT", "ibv_rereg_mr"},
	{"EBUSY EINVAL EIO", "ibv_dealloc_pd ibv_dereg_mr ibv_dealloc_mw ibv_destroy_cq ibv_destroy_comp_channel " +
		"ibv_destroy_srq ibv_destroy_qp ibv_destroy_ah ibv_detach_mcast"},
	{"EINVAL ENOMEM EIO EAGAIN ENETUNREACH EHOSTUNREACH ETIMEDOUT", "ibv_modify_qp"},
	{"EINVAL ENOMEM EIO", "ibv_query_qp ibv_query_srq"},
	{"EINVAL ENOMEM EFAULT", "ibv_post_send ibv_post_recv ibv_post_srq_recv ibv_bind_mw ibv_wr_complete"},
	{"EINVAL EIO", "ibv_poll_cq ibv_start_poll ibv_req_notify_cq"},
	{"EINTR EAGAIN EIO", "ibv_get_cq_event ibv_get_async_event rdma_get_cm_event"},
	{"ENOMEM EINVAL ENODEV EMFILE", "rdma_create_event_channel rdma_create_id rdma_create_ep rdma_get_devices"},
	{"EINVAL EADDRINUSE EADDRNOTAVAIL ENODEV EACCES ENOMEM", "rdma_bind_addr rdma_listen"},
	{"EINVAL ENODEV EADDRNOTAVAIL ENETUNREACH EHOSTUNREACH ETIMEDOUT ENOMEM", "rdma_resolve_addr rdma_resolve_route"},
	{"EINVAL ENOMEM ECONNREFUSED ETIMEDOUT ENOTCONN EIO", "rdma_connect rdma_accept rdma_establish rdma_get_request"},
	{"EINVAL ENOTCONN EIO", "rdma_disconnect rdma_reject rdma_migrate_id"},
	{"EISCONN EINVAL", "rdma_notify"}, // rdma_notify(3)
	{"EINVAL ENOMEM ENOSYS", "rdma_create_qp rdma_create_qp_ex rdma_create_srq rdma_init_qp_attr rdma_set_option"},
}

// functions are the points of functionErrors.
func functions() (list []Point) {
	for _, row := range functionErrors {
		effects := append(strings.Fields(row.errors), "delay")
		for _, name := range strings.Fields(row.names) {
			list = append(list, Point{Name: name, Meaning: "a program calls it", Effects: effects})
		}
	}
	slices.SortFunc(list, func(a, b Point) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// isFunction says whether a point is a function of verbs.
func isFunction(name string) bool { return !strings.Contains(name, ".") }

// Functions says whether any rule is about a function of verbs.
func (p *Plan) Functions() bool {
	return p.Has("ibv_") || p.Has("_ibv_") || p.Has("rdma_")
}

// errnoByName has the numbers of errors that functions may have.
var errnoByName = sync.OnceValue(func() map[string]unix.Errno {
	m := map[string]unix.Errno{}
	for e := unix.Errno(1); e < 200; e++ {
		if name := unix.ErrnoName(e); name != "" {
			m[name] = e
		}
	}
	return m
})
