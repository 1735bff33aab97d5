// What the programs share: a device that is open, queue pairs that are connected with each other, and how they
// complain.
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int failures;

#define CHECK(condition, ...)                                                     \
	do {                                                                      \
		if (!(condition)) {                                               \
			fprintf(stderr, "line %d: %s: ", __LINE__, #condition);   \
			fprintf(stderr, " " __VA_ARGS__);                         \
			fprintf(stderr, " (errno %d)\n", errno);                  \
			failures++;                                               \
		}                                                                 \
	} while (0)

#define NEED(condition)                                                           \
	do {                                                                      \
		if (!(condition)) {                                               \
			fprintf(stderr, "line %d: %s: errno %d\n", __LINE__, #condition, errno); \
			exit(1);                                                  \
		}                                                                 \
	} while (0)

static struct ibv_context *context;
static union ibv_gid self;

static inline void open_device(void) {
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);
	NEED(list && n > 0);
	context = ibv_open_device(list[0]);
	NEED(context);
	ibv_free_device_list(list);
	NEED(ibv_query_gid(context, 1, 0, &self) == 0);
}

static inline void connect_to_host(struct ibv_qp *qp, uint32_t number, union ibv_gid gid) {
	const int rights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = rights};
	NEED(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = number,
				 .max_dest_rd_atomic = 4, .min_rnr_timer = 12};
	a.ah_attr = (struct ibv_ah_attr){.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}};
	NEED(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 4};
	NEED(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC) == 0);
	NEED(qp->state == IBV_QPS_RTS);
}

static inline void connect_to(struct ibv_qp *qp, uint32_t number) { connect_to_host(qp, number, self); }

// wait_for polls for one completion.
static inline struct ibv_wc wait_for(struct ibv_cq *cq) {
	struct ibv_wc wc;
	int n;
	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	NEED(n == 1);
	return wc;
}
