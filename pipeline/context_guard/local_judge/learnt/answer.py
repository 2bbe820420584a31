"""What the answer rests on; `made` says how all of it was learnt."""

ANSWER = r"""
{"made":{"command":"python -m benchmarks.train_local_judge --seed 7 --cases 1100 --bench <later-use sessions>",
"seed":7, "made_up_cases":1705, "real_items":859,
"data":"d29f3096ad794011fdde853b3408744c052d376e927aa2cf62267cbde3f1d4f5"}, "part":{"bias":-0.7762,
"weights":[["bm25_share", 0.1679], ["bm25_spread", 0.6557], ["bm25_log", 0.6443], ["answer_cover", 1.1456],
["identifiers", 0.0019], ["defined", 1.1726], ["defined_before", -0.3694], ["earlier_defined", 4.39], ["quotes",
0.3974], ["cited", 2.619], ["cited_elsewhere", -0.854], ["file_named", 0.2742], ["file_negated", -0.076],
["around_share", 1.5069], ["around_cited", -0.6411], ["errors_failed", 1.4418], ["parts_log", -0.4173],
["question_part", -0.0602], ["history_part", 0.0046], ["notes_part", -0.6614], ["question_bm", 0.1032], ["history_bm",
0.0684], ["notes_bm", -0.6028], ["answer_bm", 0.1789], ["rank", 1.7443], ["rank_log", -0.4902], ["size_log", -0.1314],
["position", 1.4367], ["place", -0.0807], ["is_last", -0.1601], ["errors", 0.069], ["best_hit", -0.0916],
["hit_share", 0.3973], ["hit_lines", 0.1142], ["vocabulary", -0.0763], ["structured", -0.2875], ["definitions",
-0.1013], ["part_numbers", 0.151], ["answer_terms", -0.3427], ["fresh_terms", 0.2075], ["line_length", -0.458],
["keys", -0.1011], ["keys_rare", 1.8499], ["around_names", 0.1429]]}, "none":{"bias":5.1893,
"weights":[["names_share", -0.5868], ["names_missing", 0.1333], ["names_log", -0.5103], ["answer_share", -3.1881],
["answer_log", -0.1917], ["question_share", -1.9015], ["history_share", 1.6532], ["args_share", -0.6609], ["quotes",
0.1998], ["numbers", -0.5336], ["defined", -0.9041], ["cited", -1.0776], ["file_named", -0.6508], ["source_named",
0.87], ["cited_missing", 0.5877], ["best_line", -0.7123], ["best_part", -3.7881], ["parts_log", 0.1935]]}}
"""
