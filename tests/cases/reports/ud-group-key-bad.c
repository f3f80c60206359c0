/*
 * An announcement to a multicast group is sent with the Q_Key of its sender. GOOD: that of the
 * group.
 */
#include "rep.h"
#include "ud.h"

enum { OWN_QKEY = 0x2222, GROUP_LID = 0xc001, GROUP_QPN = 0xffffff };

int main(void)
{
	union ibv_gid group = { .raw = { 0xff, 0x1e, [14] = 7, [15] = 1 } };
	struct ibv_ah_attr to = { .dlid = GROUP_LID, .is_global = 1, .port_num = 1 };
	struct ud sender, member;
	uint32_t qkey = OWN_QKEY;
	struct ibv_ah *ah;
	int got;

	ud_open(&sender);
	ud_open(&member);
	need(!ibv_attach_mcast(member.qp, &group, GROUP_LID));
	ud_receive(&member, 2);
	to.grh.dgid = group;
	need(ah = ibv_create_ah(sender.pd, &to));
#ifdef GOOD
	qkey = UD_QKEY;
#endif
	ud_send_by(&sender, ah, GROUP_QPN, qkey);
	got = ud_poll(&member);
	printf("%d received\n", got);
	need(!ibv_detach_mcast(member.qp, &group, GROUP_LID) && !ibv_destroy_ah(ah));
	ud_close(&sender);
	ud_close(&member);
	return 0;
}
