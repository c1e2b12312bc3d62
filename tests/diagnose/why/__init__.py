"""The causes of `why`, from objects as a cluster shows them."""
