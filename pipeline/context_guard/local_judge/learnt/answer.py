"""What the answer rests on; `made` says how all of it was learnt."""

ANSWER = r"""
{"made":{"command":"python -m benchmarks.train_local_judge --seed 7 --cases 1100 --bench <later-use sessions>",
"seed":7, "made_up_cases":1705, "real_items":859,
"data":"d29f3096ad794011fdde853b3408744c052d376e927aa2cf62267cbde3f1d4f5"}, "part":{"bias":-0.7715,
"weights":[["bm25_share", 0.3952], ["bm25_spread", 0.6122], ["bm25_log", 0.6171], ["answer_cover", 1.2122],
["identifiers", -0.0455], ["defined", 1.1776], ["defined_before", -0.3775], ["earlier_defined", 4.4002], ["quotes",
0.4207], ["cited", 2.5297], ["cited_elsewhere", -0.8559], ["file_named", 0.3128], ["file_negated", -0.1084],
["around_share", 1.4443], ["around_cited", -0.6055], ["errors_failed", 1.4209], ["parts_log", -0.4427],
["question_part", -0.0812], ["history_part", -0.0443], ["notes_part", -0.6345], ["question_bm", 0.109], ["history_bm",
0.0755], ["notes_bm", -0.6198], ["answer_bm", 0.1555], ["rank", 1.5454], ["rank_log", -0.4266], ["size_log", -0.1173],
["position", 1.4367], ["place", -0.0934], ["is_last", -0.1765], ["errors", 0.0658], ["best_hit", -0.0882],
["hit_share", 0.4068], ["hit_lines", 0.1224], ["vocabulary", -0.08], ["structured", -0.2895], ["definitions",
-0.1127], ["part_numbers", 0.2418], ["answer_terms", -0.3487], ["fresh_terms", 0.2147], ["line_length", -0.4545],
["keys", -0.149], ["keys_rare", 1.9574], ["around_names", 0.1709]]}, "none":{"bias":5.0614, "weights":[["names_share",
-0.5913], ["names_missing", 0.1318], ["names_log", -0.5188], ["answer_share", -3.188], ["answer_log", -0.2043],
["question_share", -1.9631], ["history_share", 1.6077], ["args_share", -0.682], ["quotes", 0.2398], ["numbers",
-0.4965], ["defined", -0.8945], ["cited", -1.1137], ["file_named", -0.6165], ["source_named", 0.8963],
["cited_missing", 0.5841], ["best_line", -0.7099], ["best_part", -3.7674], ["parts_log", 0.2629]]}}
"""
