"""Access to the internals of an optimizer, for all tests."""

from skrobustbo._trials import Evaluation


def branch_of(optimizer, branch=0):
    """The search within one branch."""
    return optimizer._branches[branch]


def promises(optimizer):
    """The promises of the branches."""
    return [one.optimistic_bound() for one in optimizer._branches]


def balancer(optimizer):
    """The run-time state of the balancer of branches."""
    return optimizer._turns.balancer.state


def state(optimizer, branch=0):
    """The run-time state of the policy."""
    return branch_of(optimizer, branch).state


def models(optimizer, branch=0, *, pending=True):
    """The surrogate as the policy sees it in the next ask."""
    n_asked = optimizer._n_asked
    return branch_of(optimizer, branch).models(n_asked, pending=pending)


def reference_points(optimizer, branch=0):
    """The feasible points of a branch, or a sample of them."""
    return branch_of(optimizer, branch)._reference_points


def log(optimizer):
    """The trials of all branches, in order."""
    return optimizer._trials


def trials(optimizer):
    """All points asked or told, in order."""
    return log(optimizer).trials


def metadata(optimizer):
    """The policy's metadata for the point asked last."""
    return trials(optimizer)[-1].metadata


def first_points(optimizer):
    """The points to ask first."""
    return [trial.params for trial in optimizer._turns.first]


def tell(optimizer, params, value, std):
    """Tell the value of a point with the standard deviation of its error."""
    evaluation = optimizer._begin(Evaluation(optimizer._place(params)))
    optimizer._record(evaluation, value, std)
