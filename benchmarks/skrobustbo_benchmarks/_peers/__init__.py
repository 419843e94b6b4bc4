"""Other packages' optimisers behind the two methods of `Method`.

Nothing here imports a peer before one is made, in the process that runs it.
"""
