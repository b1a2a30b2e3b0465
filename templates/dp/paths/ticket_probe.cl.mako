<%page args="variant='group', wg_size=64, items_per_thread=1"/>\
// ticket_probe: whether groups of one launch see, in order, the writes of groups that run at the same time.
//
//   progress   [ next ticket | rounds that ticket 0 has done | of ticket 1 | .. | faults ]
//   passed     two lines of rounds * WG_SIZE words: tickets write them in turn, as strips do with their lower edges
//
// In each round ticket t waits until ticket t - 1 has done the round, reads its words, and overwrites those of t - 2. A
// group polls at most `patience` times in all. A ticket is a piece of work (dp/dp_tickets.h).
#include "portable.h"
#define WG_SIZE ${wg_size}
#include "dp/dp_tickets.h"

kernel __attribute__((reqd_work_group_size(WG_SIZE, 1, 1)))
void ticket_probe(volatile global int *progress, global int *passed, const int rounds, const int patience)
{
    local int ticket;
    const int lid = get_local_id(0), groups = get_num_groups(0), own = take_ticket(progress, &ticket);
    volatile global const int *theirs = passed + (size_t)((own + 1) & 1) * rounds * WG_SIZE;
    global int *mine = passed + (size_t)(own & 1) * rounds * WG_SIZE;
    int looks = 0;
    for (int round = 0; round < rounds; ++round) {
        if (lid == 0 && own > 0) {
            while (looks < patience && atomic_or(progress + own, 0) <= round)
                ++looks;
            FENCE;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        const int index = round * WG_SIZE + lid;
        if (own > 0 && theirs[index] != (own - 1) * rounds + round)
            atomic_inc(progress + 1 + groups);
        mine[index] = own * rounds + round;
        hand_on(progress, own, round + 1, false);
    }
}
