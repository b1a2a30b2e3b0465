"""Problems that are solved by filling a table, each with the traceback of its solution."""

from clgeom.lazy import lazy_names

TYPE_CHECKING = False  # as in typing, whose import takes longer than this whole module
#: Public names by module; a module's own name stands for the module.
_HOMES = {
    "allocation": (
        "Allocation allotment assignment covering covering_as_knapsack curve_fitting integer_program reliability"
    ),
    "catalogue": "CATALOGUE VARIANTS",
    "chains": "AlphabeticTree MatrixChain SearchTree alphabetic_tree matrix_chain search_tree",
    "clgeom.sequences.distances": "CommonSubsequence edit_distance lcs",
    "clgeom.sequences.warping": "Warping dtw",
    "cubes": "CommonOfThree all_pairs_shortest_paths lcs_of_three",
    "edits": "Edits",
    "knapsacks": "Knapsack integer_knapsack knapsack",
    "pascal": "Binomial binomial pascal_triangle",
    "plans": "discounted_profits distribution investment production project_investment transportation",
    "schedules": "Bets deadline_scheduling inventory las_vegas reject_allowances",
    "sets": "process_scheduling spanning_tree",
    "states": "GappedAlignment StatePath coin_change gapped_alignment viterbi",
    "ways": "Paths assembly_line bottleneck equipment_replacement fibonacci nim replacement shortest_paths stagecoach",
}

if TYPE_CHECKING:
    from clgeom.dp.problems.allocation import (
        Allocation as Allocation,
        allotment as allotment,
        assignment as assignment,
        covering as covering,
        covering_as_knapsack as covering_as_knapsack,
        curve_fitting as curve_fitting,
        integer_program as integer_program,
        reliability as reliability,
    )
    from clgeom.dp.problems.catalogue import CATALOGUE as CATALOGUE, VARIANTS as VARIANTS
    from clgeom.dp.problems.chains import (
        AlphabeticTree as AlphabeticTree,
        MatrixChain as MatrixChain,
        SearchTree as SearchTree,
        alphabetic_tree as alphabetic_tree,
        matrix_chain as matrix_chain,
        search_tree as search_tree,
    )
    from clgeom.dp.problems.cubes import (
        CommonOfThree as CommonOfThree,
        all_pairs_shortest_paths as all_pairs_shortest_paths,
        lcs_of_three as lcs_of_three,
    )
    from clgeom.dp.problems.edits import Edits as Edits
    from clgeom.dp.problems.knapsacks import (
        Knapsack as Knapsack,
        integer_knapsack as integer_knapsack,
        knapsack as knapsack,
    )
    from clgeom.dp.problems.pascal import Binomial as Binomial, binomial as binomial, pascal_triangle as pascal_triangle
    from clgeom.dp.problems.plans import (
        discounted_profits as discounted_profits,
        distribution as distribution,
        investment as investment,
        production as production,
        project_investment as project_investment,
        transportation as transportation,
    )
    from clgeom.dp.problems.schedules import (
        Bets as Bets,
        deadline_scheduling as deadline_scheduling,
        inventory as inventory,
        las_vegas as las_vegas,
        reject_allowances as reject_allowances,
    )
    from clgeom.dp.problems.sets import process_scheduling as process_scheduling, spanning_tree as spanning_tree
    from clgeom.dp.problems.states import (
        GappedAlignment as GappedAlignment,
        StatePath as StatePath,
        coin_change as coin_change,
        gapped_alignment as gapped_alignment,
        viterbi as viterbi,
    )
    from clgeom.dp.problems.ways import (
        Paths as Paths,
        assembly_line as assembly_line,
        bottleneck as bottleneck,
        equipment_replacement as equipment_replacement,
        fibonacci as fibonacci,
        nim as nim,
        replacement as replacement,
        shortest_paths as shortest_paths,
        stagecoach as stagecoach,
    )
    from clgeom.sequences.distances import (
        CommonSubsequence as CommonSubsequence,
        edit_distance as edit_distance,
        lcs as lcs,
    )
    from clgeom.sequences.warping import Warping as Warping, dtw as dtw
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__, globals(), _HOMES)
