// Registers memory in all the ways that there are, and uses each registration between two queue pairs of this process.
#define _GNU_SOURCE
#include "common.h"
#include <fcntl.h>

static struct ibv_cq *cq;
static struct ibv_qp *qp, *target; // that one works on the memory of this one's domain

static enum ibv_wc_status transfer(enum ibv_wr_opcode opcode, uint64_t local, uint32_t lkey, uint64_t remote,
	uint32_t rkey) {
	struct ibv_sge sge = {local, 8, lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {remote, rkey}}, *bad;
	NEED(ibv_post_send(qp, &wr, &bad) == 0);
	enum ibv_wc_status status = wait_for(cq).status;
	if (status != IBV_WC_SUCCESS) { // begin anew
		struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
		NEED(ibv_modify_qp(qp, &reset, IBV_QP_STATE) == 0 && ibv_modify_qp(target, &reset, IBV_QP_STATE) == 0);
		connect_to(qp, target->qp_num);
		connect_to(target, qp->qp_num);
	}
	return status;
}

int main(void) {
	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	open_device();
	struct ibv_pd *pd = ibv_alloc_pd(context), *second = ibv_alloc_pd(context);
	NEED(pd && second && (cq = ibv_create_cq(context, 16, NULL, NULL, 0)));
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	NEED((qp = ibv_create_qp(pd, &init)) && (target = ibv_create_qp(pd, &init)));
	connect_to(qp, target->qp_num);
	connect_to(target, qp->qp_num);
	static char from[64] = "original", to[4096], other[4096];
	struct ibv_mr *source = ibv_reg_mr(pd, from, sizeof from, 0);
	NEED(source && source->addr == from && source->length == sizeof from && source->pd == pd);

	// At another address for peers, and from zero.
	struct ibv_mr *mr = ibv_reg_mr_iova(pd, to, sizeof to, 0x123456789000, all);
	NEED(mr && mr->addr == to);
	CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, 0x123456789008, mr->rkey) == IBV_WC_SUCCESS);
	CHECK(memcmp(to + 8, "original", 8) == 0);
	CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, (uintptr_t)to, mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	CHECK(ibv_dereg_mr(mr) == 0);
	NEED((mr = ibv_reg_mr(pd, to, sizeof to, all | IBV_ACCESS_ZERO_BASED)));
	CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, 100, mr->rkey) == IBV_WC_SUCCESS);
	CHECK(memcmp(to + 100, "original", 8) == 0);
	CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, sizeof to - 7, mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	uint32_t key = mr->rkey;
	CHECK(ibv_dereg_mr(mr) == 0);
	CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, 100, key) == IBV_WC_REM_ACCESS_ERR);

	// Rights, of either side, and domains.
	CHECK(transfer(IBV_WR_RDMA_READ, (uintptr_t)from, source->lkey, (uintptr_t)from, source->rkey) != IBV_WC_SUCCESS);
	NEED((mr = ibv_reg_mr(pd, to, sizeof to, all)));
	CHECK(transfer(IBV_WR_RDMA_READ, (uintptr_t)from, source->lkey, (uintptr_t)to, mr->rkey) == IBV_WC_LOC_PROT_ERR);
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ) == 0);
	CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, (uintptr_t)to, mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS | IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, 128, all) == 0);
	CHECK(mr->addr == other && mr->length == 128);
	CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, (uintptr_t)other, mr->rkey) == IBV_WC_SUCCESS);
	CHECK(strcmp(other, "original") == 0);
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, second, NULL, 0, 0) == 0 && mr->pd == second);
	CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, (uintptr_t)other, mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	CHECK(ibv_rereg_mr(mr, 64, NULL, NULL, 0, 0) < 0 && errno == EINVAL);
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, (void *)from, NULL, 0, 0) < 0);
	CHECK(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(second) == 0);

	// The memory of a descriptor, from an offset that isn't a page's.
	int fd = memfd_create("test", 0);
	NEED(fd >= 0 && ftruncate(fd, 8192) == 0);
	char *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(mapped != MAP_FAILED);
	CHECK(!ibv_reg_dmabuf_mr(pd, 4096, 8192, 0, fd, all) && errno == EINVAL);
	NEED((mr = ibv_reg_dmabuf_mr(pd, 4100, 1000, 0x7000, fd, all)));
	close(fd);
	CHECK(mr->addr == (void *)4100 && mr->length == 1000);
	CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, 0x7000 + 10, mr->rkey) == IBV_WC_SUCCESS);
	CHECK(memcmp(mapped + 4110, "original", 8) == 0);
	CHECK(ibv_dereg_mr(mr) == 0);

	// Rights to write come to no mapping that can't be written: of a descriptor that was registered for reading, of one
	// that is open for reading, and of pages that are read-only.
	NEED((fd = memfd_create("test", 0)) >= 0 && ftruncate(fd, 8192) == 0);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int reading = open(path, O_RDONLY);
	NEED(reading >= 0);
	CHECK(!ibv_reg_dmabuf_mr(pd, 0, 4096, 0x7000, reading, all) && errno == EACCES);
	for (int i = 0; i < 2; i++) {
		NEED((mr = ibv_reg_dmabuf_mr(pd, 0, 4096, 0x7000, i ? fd : reading, IBV_ACCESS_REMOTE_READ)));
		CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, all) < 0 && errno == EFAULT);
		CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, 0x7000, mr->rkey) == IBV_WC_REM_ACCESS_ERR);
		CHECK(ibv_dereg_mr(mr) == 0);
	}
	char *fixed = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	NEED(fixed != MAP_FAILED);
	CHECK(!ibv_reg_mr(pd, fixed, 4096, all) && errno == EFAULT);
	NEED((mr = ibv_reg_mr(pd, fixed, 4096, IBV_ACCESS_REMOTE_READ)));
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, all) < 0 && errno == EFAULT);
	CHECK(transfer(IBV_WR_RDMA_WRITE, (uintptr_t)from, source->lkey, (uintptr_t)fixed, mr->rkey) == IBV_WC_REM_ACCESS_ERR);
	CHECK(ibv_dereg_mr(mr) == 0 && fixed[0] == 0);

	CHECK(ibv_destroy_qp(qp) == 0 && ibv_destroy_qp(target) == 0 && ibv_dereg_mr(source) == 0);
	CHECK(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0);
	CHECK(ibv_close_device(context) == 0);
	puts(failures ? "FAILED" : "passed");
	return failures != 0;
}
