"""Small instances of the problems: the parameters of their functions, by the name of the function."""

from __future__ import annotations

from typing import Any

INF = float("inf")

EXAMPLES: dict[str, dict[str, Any]] = {
    "binomial": {"n": 33, "k": 16},
    "knapsack": {"values": [25, 24, 15], "weights": [18, 15, 10], "capacity": 22},
    "lcs": {"a": "abcbdab", "b": "bdcaba"},
    "matrix_chain": {"dims": [30, 35, 15, 5, 10, 20, 25]},
    "edit_distance": {"a": "kitten", "b": "sitting"},
    "allotment": {"costs": [[INF, 1, 0.8, 0.4, 0], [INF, 1, 0.5, 0, 0], [INF, 1, 0.6, 0.3, 0]], "total": 4},
    "alphabetic_tree": {"weights": [2, 3, 1, 4]},
    "assembly_line": {
        "stations": [[7, 9, 3, 4, 8, 4], [8, 5, 6, 4, 5, 7]],
        "transfers": [[2, 3, 1, 3, 4], [2, 1, 2, 2, 1]],
        "entry": [2, 4],
        "leave": [3, 2],
    },
    "assignment": {"costs": [[4, 1, 3], [2, 0, 5], [3, 2, 2]]},
    "search_tree": {"keys": [0.15, 0.1, 0.05, 0.1, 0.2], "gaps": [0.05, 0.1, 0.05, 0.05, 0.05, 0.1]},
    "covering": {"sizes": [1, 4, 5, 7, 8, 12, 13, 18, 19, 21], "kinds": 3},
    "deadline_scheduling": {"profits": [10, 15, 20, 1, 5], "deadlines": [1, 2, 2, 3, 3]},
    "discounted_profits": {
        "profits": [[0, 2, 4, 6, 8]] * 5,
        "growth": [0, 2, 4, 4, 4],
        "stock": 2,
        "years": 3,
        "discount": 0.75,
    },
    "fibonacci": {"n": 10},
    "integer_program": {"profits": [3, 5], "rows": [[1, 0], [0, 2], [3, 2]], "limits": [4, 12, 18]},
    "inventory": {"demands": [1, 3, 2, 4], "setup": 3, "unit": 1, "holding": 0.5, "capacity": 5, "warehouse": 4},
    "investment": {"returns": [[0, 1, 4, 4], [0, 0, 2, 5]], "money": 3},
    "las_vegas": {"p": 2 / 3, "plays": 3, "chips": 3, "goal": 5},
    "covering_as_knapsack": {"sizes": [1, 4, 5, 7, 8, 12, 13, 18, 19, 21], "kinds": 3},
    "integer_knapsack": {"values": [25, 24, 15], "weights": [18, 15, 10], "capacity": 22},
    "bottleneck": {"legs": [[[5, 9]], [[7], [1]]]},
    "spanning_tree": {"lengths": [[0, 1, 4], [1, 0, 2], [4, 2, 0]]},
    "nim": {"n": 10, "most": 3},
    "distribution": {"demands": [2, 1], "costs": [[[0, 1, 5], [0, 2, 9]], [[0, 3, 4], [0, 1, 2]]], "stocks": [2, 2]},
    "production": {"demands": [1, 2], "costs": [[0, 3, 4, 5], [0, 4, 8, 12]], "holding": [0.5, 0], "warehouse": 2},
    "reliability": {"costs": [30, 15, 20], "rates": [0.9, 0.8, 0.5], "budget": 105},
    "replacement": {"costs": [[0, 3, 9], [0, 0, 4], [0, 0, 0]]},
    "stagecoach": {"legs": [[[2, 4, 3]], [[7, 4, 6], [3, 2, 4], [4, 1, 5]], [[1, 4], [6, 3], [3, 3]], [[3], [4]]]},
    "curve_fitting": {"x": [0, 1, 2, 3, 4], "y": [0, 1, 2, 1, 0], "segments": 2},
    "process_scheduling": {"times": [3, 5, 2]},
    "transportation": {"costs": [[2, 3], [1, 4]], "supplies": [3, 2], "demands": [2, 3]},
    "shortest_paths": {"lengths": [[0, 1, 9], [INF, 0, -2], [INF, INF, 0]]},
    "reject_allowances": {"setup": 300, "unit": 100, "success": 0.5, "penalty": 1600, "runs": 3},
    "project_investment": {"returns": [[0, 5, 6], [0, 4, 9], [0, 3, 7]], "money": 4},
    "equipment_replacement": {"price": 1000, "maintenance": [60, 80, 120], "trade_in": [800, 600, 500], "years": 5},
    "pascal_triangle": {"rows": 4},
    "gapped_alignment": {"a": "ACGTTTACG", "b": "ACGACG"},
    "viterbi": {
        "observed": [0, 1, 2],
        "start": [0.6, 0.4],
        "transitions": [[0.7, 0.3], [0.4, 0.6]],
        "emissions": [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]],
    },
    "coin_change": {"coins": [1, 5, 10, 25], "amount": 99},
    "lcs_of_three": {"a": "abcbdab", "b": "bdcaba", "c": "cbaabd"},
    "all_pairs_shortest_paths": {"lengths": [[0, 1, 9], [INF, 0, -2], [4, INF, 0]]},
}
