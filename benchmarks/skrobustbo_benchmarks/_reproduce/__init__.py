"""``reproduce``: the experiments of the papers, as data, run, judged and written up.

Two layers: a `Case` is a problem with its methods and owns one csv file of runs; an
`Experiment` is a figure or table of a paper, a view of some runs of some cases, with
what the paper says of them as claims that a rule judges. Both are in ``papers``, a file
for each paper.
"""
