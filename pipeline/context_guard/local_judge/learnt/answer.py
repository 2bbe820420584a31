"""What the answer rests on; `made` says how all of it was learnt."""

ANSWER = r"""
{"made":{"command":"python -m benchmarks.train_local_judge --seed 7 --cases 1100 --bench <later-use sessions>",
"seed":7, "made_up_cases":1705, "real_items":859,
"data":"d29f3096ad794011fdde853b3408744c052d376e927aa2cf62267cbde3f1d4f5"}, "part":{"bias":-1.013,
"weights":[["bm25_share", 0.244], ["bm25_spread", 0.6717], ["bm25_log", 0.6554], ["answer_cover", 1.069],
["identifiers", 0.193], ["defined", 1.2725], ["defined_before", -0.2952], ["earlier_defined", 4.2616], ["quotes",
0.4728], ["cited", 2.6082], ["cited_elsewhere", -0.809], ["file_named", 0.3647], ["file_negated", -0.6888],
["around_share", 1.4851], ["around_cited", -0.6451], ["errors_failed", 1.503], ["parts_log", -0.3837],
["question_part", -0.0776], ["history_part", 0.0294], ["notes_part", -0.4128], ["question_bm", 0.0913], ["history_bm",
0.0503], ["notes_bm", -0.7663], ["answer_bm", 0.1683], ["rank", 1.7277], ["rank_log", -0.4783], ["size_log", -0.1168],
["position", 1.415], ["place", -0.0749], ["is_last", -0.1656], ["errors", 0.0598], ["best_hit", -0.0426],
["hit_share", 0.395], ["hit_lines", 0.0952], ["vocabulary", -0.0979], ["structured", -0.2475], ["definitions",
-0.1228], ["part_numbers", 0.1299], ["answer_terms", -0.2862], ["fresh_terms", 0.1285], ["line_length", -0.4471],
["keys", -0.2258], ["keys_rare", 1.4192], ["around_names", 0.1489]]}, "none":{"bias":5.1893,
"weights":[["names_share", -0.5868], ["names_missing", 0.1333], ["names_log", -0.5103], ["answer_share", -3.1881],
["answer_log", -0.1917], ["question_share", -1.9015], ["history_share", 1.6532], ["args_share", -0.6609], ["quotes",
0.1998], ["numbers", -0.5336], ["defined", -0.9041], ["cited", -1.0776], ["file_named", -0.6508], ["source_named",
0.87], ["cited_missing", 0.5877], ["best_line", -0.7123], ["best_part", -3.7881], ["parts_log", 0.1935]]}}
"""
