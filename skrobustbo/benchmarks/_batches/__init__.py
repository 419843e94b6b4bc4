"""``batches``: what candidates proposed and evaluated side by side cost and gain."""
