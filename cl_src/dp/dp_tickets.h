// dp/dp_tickets.h: synchronisation of the work-groups of one launch.
//
//   progress   [ next ticket | progress of piece 0 | piece 1 | .. | the last piece | whether a group gave up ]
//
// A group takes the next piece of work by a ticket, and waits only for the piece before, which a running group has taken. So
// some group can always continue. Data that a group wrote before it published its progress is visible to groups that read
// this progress; they read the data through volatile pointers, so that no cache is used. The includer has WG_SIZE.
#define FENCE mem_fence(CLK_GLOBAL_MEM_FENCE); write_mem_fence(CLK_GLOBAL_MEM_FENCE)

// The next ticket, for all work-items of the group.
inline int take_ticket(volatile global int *progress, local int *ticket)
{
    if (get_local_id(0) == 0)
        *ticket = atomic_inc(progress);
    barrier(CLK_LOCAL_MEM_FENCE);
    return *ticket;
}

// Wait until a piece has made this progress. A group gives up after `patience` reads, and then all waiting groups do.
// Returns whether this group gave up, to all its work-items; `given_up` is false at first.
inline bool wait_for(volatile global int *progress, const int piece, const int enough, const int patience, local int *given_up)
{
    volatile global int *stalled = progress + 1 + get_num_groups(0);
    if (get_local_id(0) == 0 && piece >= 0) {
        bool there = false;
        for (int looks = 0; looks < patience && !there; ++looks) {
            there = atomic_or(progress + 1 + piece, 0) >= enough;
            if (!there && looks % 256 == 255 && atomic_or(stalled, 0))
                break;
        }
        if (!there) {
            atomic_xchg(stalled, 1);
            *given_up = 1;
        }
        FENCE;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return *given_up;
}

// Publish the progress of a piece, with all data that the group wrote before. The last work-item writes it, while the first
// may read the progress of the piece before.
inline void hand_on(volatile global int *progress, const int piece, const int done, const bool gone)
{
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == WG_SIZE - 1 && !gone) {
        FENCE;
        atomic_xchg(progress + 1 + piece, done);
    }
}
