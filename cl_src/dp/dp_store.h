// dp/dp_store.h: fills one cell of a stage. Included after the equation.
//
// Needs DP_KEEP (1: one row is kept besides, 2: one column), DP_DECISIONS (the type of choices that are kept, if any)
// with DP_DECISION_CHUNKS and DP_DECISION_SHIFT, or DP_DECISION_BITS when they are packed.
#include "dp/dp_overflow.h"
#ifdef DP_DECISIONS
#if DP_DECISION_BITS
// Stores a choice in its word, that of the first column in the lowest bits. Words are 0 at first. It is atomic, because
// work-items store neighbouring choices at the same time.
#define DP_DECISION_TABLE , global uint *dp_d0
#define DP_DECISION_NAMES , dp_d0
#define DP_PER_WORD (32 / DP_DECISION_BITS)
#define DP_KEEP_DECISION(d)                                                        \
    if (d) atomic_or(dp_d0 + (ulong)i * ((m + DP_PER_WORD - 1) / DP_PER_WORD) + j / DP_PER_WORD, \
                     (uint)(d) << (j % DP_PER_WORD * DP_DECISION_BITS))
#elif DP_DECISION_CHUNKS > 1
DP_CHUNK_OF(DP_DECISIONS, dp_decision_at)
#define DP_DECISION_TABLE , DP_MANY(DP_DECISIONS, dp_d)
#define DP_DECISION_NAMES , DP_MANY_NAMES(dp_d)
#define DP_KEEP_DECISION(d)                                                                          \
    *dp_decision_at(dp_offset(DP_LAYOUT, i, j, n, m), DP_DECISION_SHIFT DP_DECISION_NAMES) = (DP_DECISIONS)(d)
#else
#define DP_DECISION_TABLE , DP_ONE(DP_DECISIONS, dp_d)
#define DP_DECISION_NAMES , dp_d0
#define DP_KEEP_DECISION(d) dp_d0[dp_offset(DP_LAYOUT, i, j, n, m)] = (DP_DECISIONS)(d)
#endif
#else
#define DP_DECISION_TABLE
#define DP_DECISION_NAMES
#endif

#if DP_KEEP
#define DP_KEPT , global stored_t *kept, const int kept_line
#define DP_KEPT_NAMES , kept, kept_line
#else
#define DP_KEPT
#define DP_KEPT_NAMES
#endif
#if DP_CHECK
#define DP_FAULTS , const int start, const int known, const int only, global int *faults
#define DP_FAULTS_NAMES , start, known, only, faults
#else
#define DP_FAULTS
#define DP_FAULTS_NAMES
#endif
#define DP_STAGE_PARAMETERS \
    DP_TABLE DP_DECISION_TABLE DP_KEPT, const int n, const int m, const int first, const int last, const uint low, const uint high \
    DP_FAULTS DP_KERNEL_PARAMETERS
#define DP_KEEP_NAMES DP_TABLE_NAMES DP_DECISION_NAMES DP_KEPT_NAMES
#define DP_STAGE_NAMES DP_TABLE_NAMES DP_DECISION_NAMES DP_KEPT_NAMES, n, m DP_FAULTS_NAMES DP_ARGUMENTS

// Stores the value and the choice of cell (i, j).
inline void dp_keep_cell(const int i, const int j, const cell_t value, const uint decision,
                         DP_TABLE DP_DECISION_TABLE DP_KEPT, const int n, const int m)
{
    DP_AT(DP_OFFSET(i, j)) = DP_AS_STORED(value);
#ifdef DP_DECISIONS
    DP_KEEP_DECISION(DP_STORED_DECISION(decision));
#endif
#if DP_KEEP == 1
    if (i == kept_line) kept[j] = DP_AS_STORED(value);
#elif DP_KEEP == 2
    if (j == kept_line) kept[i] = DP_AS_STORED(value);
#endif
}

#ifndef DP_WIDE_TYPE
// Computes cell (i, j), which has this index in its stage. Checked stages run one by one, so that the first fault is found.
inline void dp_fill_cell(const int i, const int j, const int stage, const int index,
                         DP_TABLE DP_DECISION_TABLE DP_KEPT, const int n, const int m DP_FAULTS DP_KERNEL_PARAMETERS)
{
    uint decision = 0;
#if DP_CHECK
    if (only >= 0 && index != only) return;
    int fault[3] = {0, 0, 0};
#endif
    int over = 0;
    const cell_t value = dp_cell(i, j, n, m DP_PASS DP_ARGUMENTS DP_DECISION(&decision) DP_OVER(&over));
    DP_NOTE_OVER(over, i, j);
#if DP_CHECK
#if DP_WIDENED  // computed in a wider type, which shows overflow
    if ((stored_t)value != value) dp_note(fault, DP_FAULT_OVERFLOW, 0, 0);
#endif
#if DP_HAS_DECISION
    if (DP_BAD_DECISION(decision)) dp_note(fault, DP_FAULT_DECISION, (int)decision, 0);
#endif
    if (only >= 0) {  // note the fault of this cell, and store nothing
        faults[2] = fault[0];
        faults[3] = fault[1];
        faults[4] = fault[2];
        return;
    }
    if (fault[0] > 0) {  // the first stage with a fault, and its first index
        const int before = atomic_cmpxchg(faults, 0, stage + 1);
        if (before == 0 || before == stage + 1) atomic_min(faults + 1, index);
    }
    if (!known) return;
#endif
    dp_keep_cell(i, j, value, decision, DP_KEEP_NAMES, n, m);
}
#endif
