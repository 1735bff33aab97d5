// Makes objects of verbs and leaves some of them: the argument says which mistake, or "clean" for none.
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ibv_pd *make_domain(struct ibv_context *context) { return ibv_alloc_pd(context); }

static struct ibv_mr *make_region(struct ibv_pd *pd, void *at, size_t n)
{
	return ibv_reg_mr(pd, at, n, IBV_ACCESS_LOCAL_WRITE);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "clean";
	static char memory[4096];
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!context)
		return 1;
	ibv_free_device_list(list);
	struct ibv_pd *pd = make_domain(context);
	struct ibv_mr *mr = make_region(pd, memory, sizeof memory);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	if (!pd || !mr || !cq || !qp)
		return 1;
	if (strcmp(what, "qp") && ibv_destroy_qp(qp))
		return 1;
	if (strcmp(what, "qp") && strcmp(what, "cq") && ibv_destroy_cq(cq))
		return 1;
	if (strcmp(what, "mr") && ibv_dereg_mr(mr))
		return 1;
	if (strcmp(what, "mr") && strcmp(what, "pd") && strcmp(what, "qp") && ibv_dealloc_pd(pd))
		return 1;
	if (strcmp(what, "context") && ibv_close_device(context))
		return 1;
	return 0;
}
