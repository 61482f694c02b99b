"""What is sold, and what was ordered."""

from django.db import models


class Article(models.Model):
    """The database itself refuses less than nothing (a check of PositiveIntegerField)."""

    name = models.CharField(max_length=50, unique=True)
    left = models.PositiveIntegerField()


class Order(models.Model):
    """`shipped_by` is the job that has shipped it."""

    article = models.ForeignKey(Article, on_delete=models.PROTECT)
    count = models.PositiveIntegerField()
    shipped_by = models.BigIntegerField(null=True)
